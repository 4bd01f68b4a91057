"""x86-64 with AVX2 and FMA: 16 registers of 32 bytes."""

from morello.machine import isa
from morello.machine.shipped import shipped
from morello.machine.target import Target

AVX2 = Target(
    name="avx2",
    cpu="haswell",
    features=("avx2", "fma"),
    isa=isa.AVX2,
    l1_lines=512,
    l1_ways=8,
    l2_lines=16384,
    **shipped("avx2"),
    kernels=(
        "matmul_broadcast",
        "matmul_block",
        "matmul_rows",
        "matmul_axpy",
        "matmul_axpy_four",
        "matmul_axpy_bf16",
        "matmul_dot",
        "matmul_scalar",
        "matmul_dot_halves",
        "matmul_pairs",
        "matmul_pairs_float",
        "matmul_quads",
        "matmul_saturating_pairs",
        "matmul_saturating_scalar",
        "move_rows",
        "move_transpose",
        "move_interleave",
        "move_interleave_quads",
        "move_pair_transpose",
        "move_odd_even",
        "move_load",
        "move_store",
        "move_scalar",
        "fill_rows",
        "fill_registers",
        "max_rows",
        "max_columns",
        "max_scalar",
    ),
)

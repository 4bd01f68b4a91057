"""x86-64 with AVX2 and FMA: 16 registers of 32 bytes."""

from morello.targets.coefficients import Coefficients
from morello.targets.target import Target

COEFFICIENTS = Coefficients(
    line_gl=5000,
    line_l2=1300,
    strided_factor=2,
    run=60000,
    loop_trip=1000,
    loop_setup=2000,
    fork=8000000,
    kernel_setup=20000,
    fma=500,
    fma_latency=4800,
    multiply_add_int=1000,
    multiply_add_int_latency=1000,
    load=500,
    store=1000,
    masked_load=1000,
    shuffle=1000,
    vector_op=500,
    vector_op_latency=2000,
    scalar=4000,
)
"""Millicycles on AMD Zen 4 and 5. Lines are from read bandwidths of one core (DRAM 47
GB/s, L2 212 GB/s); instructions from two vector ports, two vector loads a cycle and one
store. A chain of multiply-adds costs more than its latency of four cycles: tiles with
eight chains reach 83 % of the peak, those with twelve reach it. The set-up of a kernel
is what made the search prefer, of a few values tried, the faster blockings of 512 x 512
x 512."""

AVX2 = Target(
    name="avx2",
    cpu="haswell",
    features=("avx2", "fma"),
    registers=16,
    vector_bytes=32,
    l1_lines=512,
    l1_ways=8,
    l2_lines=16384,
    coefficients=COEFFICIENTS,
    kernels=(
        "matmul_broadcast",
        "matmul_axpy",
        "matmul_dot",
        "matmul_scalar",
        "matmul_dot_halves",
        "matmul_pairs",
        "matmul_saturating_pairs",
        "matmul_saturating_scalar",
        "move_rows",
        "move_transpose",
        "move_interleave",
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

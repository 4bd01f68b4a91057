"""x86-64 with AVX2 and FMA: 16 registers of 32 bytes."""

from morello.targets.coefficients import Coefficients
from morello.targets.target import Target

COEFFICIENTS = Coefficients(
    line_gl=2500,
    line_l2=1300,
    hidden_gl=1000,
    hidden_l2=200,
    store_gl=2000,
    store_l2=1000,
    row_gl=2500,
    row_l2=800,
    crowd_l2=1700,
    run=60000,
    strided_factor=2,
    shared_gl=500,
    loop_trip=300,
    loop_setup=600,
    fork=8000000,
    kernel_setup=3000,
    fma=500,
    fma_latency=4200,
    multiply_add_int=700,
    multiply_add_int_latency=1900,
    load=500,
    store=1000,
    masked_load=600,
    shuffle=300,
    vector_op=400,
    vector_op_latency=1300,
    scalar=1000,
)
"""Millicycles on AMD Zen 4. Lines, rows, loops and latencies are from a fit to measured
programs, rounded; instructions from two vector ports, two vector loads a cycle and one
store (`docs/calibration.md`)."""

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
        "matmul_block",
        "matmul_axpy",
        "matmul_axpy_bf16",
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

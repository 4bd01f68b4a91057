"""x86-64 with AVX2 and FMA: 16 registers of 32 bytes."""

from morello.targets.coefficients import Coefficients
from morello.targets.target import Target

COEFFICIENTS = Coefficients(
    line_gl=3492,
    line_l2=608,
    hidden_gl=1163,
    hidden_l2=196,
    store_gl=1796,
    store_l2=1385,
    row_gl=2415,
    row_l2=326,
    crowd_l2=1727,
    run=64895,
    strided_factor=2,
    shared_gl=500,
    loop_trip=103,
    loop_setup=183,
    fork=8000000,
    kernel_setup=678,
    fma=511,
    fma_latency=4291,
    multiply_add_int=707,
    multiply_add_int_latency=1414,
    load=504,
    store=964,
    masked_load=595,
    shuffle=407,
    vector_op=304,
    vector_op_latency=1708,
    scalar=530,
)
"""Millicycles on AMD Zen 4, as `morello calibrate` wrote them: the run is recorded in
``benchmarks/results/avx2-zen4.target``, and a test compares the two. ``fork`` and
``shared_gl`` are estimates: threads are not calibrated (`docs/calibration.md`)."""

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

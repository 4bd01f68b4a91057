"""AVX2 on AMD's Zen 3: half of a Zen 4's L2, and adders of floats that share a port.

L2 has 512 KiB, where 384 KiB of operands are taken to stay from call to call.
``vaddps`` has ports 2 and 3, of which ``vpmaddwd`` needs the latter: sums of bytes on
the adders of floats take longer here than those of `matmul_pairs`, so this target does
not have that kernel.
"""

import dataclasses

from morello.cost.coefficients import Coefficients
from morello.machine.avx2 import AVX2

COEFFICIENTS = Coefficients(
    line_gl=1247,
    line_l2=231,
    hidden_gl=868,
    hidden_l2=193,
    rows_l2=160,
    stream_gl=180,
    stream_far=400,
    stream_l2=49,
    store_gl=988,
    store_l2=2504,
    turn_gl=289,
    turn_copy=290,
    row_gl=789,
    row_turned=784,
    row_l2=201,
    row_aliased=5754,
    crowd_l2=6010,
    crowd_l1=2300,
    crowd_panel=500,
    line_dram=6634,
    hidden_dram=1629,
    stream_dram=1800,
    turn_dram=3562,
    store_dram=2447,
    run_dram=66080,
    prefetch=2141,
    prefetch_dram=300,
    shared_gl=500,
    run=9982,
    strided_factor=2,
    loop_trip=28,
    loop_setup=69,
    fork=8000000,
    kernel_setup=173,
    fma=564,
    fma_latency=4180,
    multiply_add_int=675,
    multiply_add_int_latency=1414,
    load=839,
    split_load=0,
    split_l2=0,
    dispatch=0,
    store=1290,
    masked_load=896,
    shuffle=545,
    vector_op=368,
    vector_op_latency=1387,
    scalar=657,
)
"""Millicycles on AMD Zen 3, as `morello calibrate` wrote them: the run is recorded in
``benchmarks/results/avx2-zen3.target``, and a test compares the two. ``fork`` and
``shared_gl`` are estimates, as in `morello.machine.avx2`. ``prefetch_dram`` is younger
than the run: it was set by hand when only products of bf16 by columns were the better
for it. Those of one row or column read places apart by now and ask for nothing
(docs/internals/kernels.md). ``stream_far`` is younger, too: by hand, from 2048 cubed;
``rows_l2``, from 240 and 256 cubed. ``stream_gl`` was 50 by the run; by
hand it is a little more than what lines of a panel took longer from L3 than from L2, in
1024 cubed."""

AVX2_ZEN3 = dataclasses.replace(
    AVX2,
    name="avx2-zen3",
    l2_lines=1 << 13,
    near_lines=3 << 11,
    coefficients=COEFFICIENTS,
    kernels=(
        *(kernel for kernel in AVX2.kernels if kernel != "matmul_pairs_float"),
        "matmul_axpy_apart",
        "matmul_axpy_bf16_apart",
        "matmul_dot_apart",
    ),
)

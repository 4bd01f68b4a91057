"""AVX2 on servers with Intel's Golden Cove cores and their successors.

L2 has 2 MiB, where 1.5 MiB of operands are taken to stay from call to call. Programs
count on 1 MiB: of a panel of 1 MiB a part comes from L3 each time
(kernels.md). Stores that wait for lines hold up loads, and spreading small
elements takes port 5: there is a kernel for each. Of the 48 KiB of L1, 12 ways, the
power of two is counted that 8 ways make. The last-level cache is one for all cores of a
socket: 128 MiB can be counted on.
"""

import dataclasses

from morello.cost.coefficients import Coefficients
from morello.machine.avx2 import AVX2

COEFFICIENTS = Coefficients(
    line_gl=5456,
    line_l2=109,
    hidden_gl=1408,
    hidden_l2=185,
    rows_l2=100,
    stream_gl=1200,
    stream_far=1200,
    stream_l2=49,
    store_gl=1452,
    store_l2=3660,
    turn_gl=3331,
    turn_copy=100,
    row_gl=714,
    row_turned=11000,
    row_l2=144,
    row_aliased=4801,
    crowd_l2=5021,
    crowd_l1=2180,
    crowd_panel=500,
    line_dram=5260,
    hidden_dram=1470,
    stream_dram=1800,
    turn_dram=3686,
    store_dram=2453,
    run_dram=65511,
    prefetch=1976,
    prefetch_dram=0,
    shared_gl=500,
    run=9095,
    strided_factor=2,
    loop_trip=16,
    loop_setup=40,
    fork=8000000,
    kernel_setup=131,
    fma=518,
    fma_latency=4297,
    multiply_add_int=1057,
    multiply_add_int_latency=1414,
    load=771,
    split_load=385,
    split_l2=50,
    dispatch=267,
    store=790,
    masked_load=441,
    shuffle=675,
    vector_op=347,
    vector_op_latency=3011,
    scalar=746,
)
"""Millicycles on Intel Emerald Rapids, as `morello calibrate` wrote them: the run is
recorded in ``benchmarks/results/avx2-golden-cove.target``, and a test compares the two.
Estimates are ``fork`` and ``shared_gl``, as in `morello.machine.avx2`, and what is paid
in DRAM: no operands of the sample are larger than the last-level cache. ``stream_gl``
and ``turn_copy`` were set by hand before the run, which left them so. ``row_turned`` is
younger than the run: of 400 programs of ``move:1000x1000:f32:dst=[1,0]`` it makes the
errors least (internals/cost.md). ``rows_l2`` is younger, too: by hand, from 128 and
256 cubed, ``split_load``: half of ``load``, ``split_l2``: from small Specs, and
``dispatch``: 3.75 instructions a cycle (docs/internals/kernels.md)."""

AVX2_GOLDEN_COVE = dataclasses.replace(
    AVX2,
    name="avx2-golden-cove",
    l2_lines=1 << 14,
    near_lines=3 << 13,
    streams=32,
    set_rows=12,
    l3_lines=1 << 21,
    coefficients=COEFFICIENTS,
    kernels=(
        *AVX2.kernels,
        "matmul_panels",
        "matmul_axpy_ahead",
        "matmul_outer",
        "matmul_axpy_bf16_ahead",
        "matmul_dot_ahead",
        "matmul_saturating_pairs_wide",
        "move_transpose_ahead",
    ),
)

"""AVX2 on servers with Intel's Golden Cove cores and their successors.

L2 has 2 MiB. Of the 48 KiB of L1, 12 ways, the power of two is counted that 8 ways
make. The last-level cache is one for all cores of a socket: 128 MiB can be counted on.
"""

import dataclasses

from morello.targets.avx2 import AVX2
from morello.targets.coefficients import Coefficients

COEFFICIENTS = Coefficients(
    line_gl=5216,
    line_l2=246,
    hidden_gl=1038,
    hidden_l2=198,
    stream_gl=50,
    stream_l2=50,
    store_gl=1295,
    store_l2=4516,
    turn_gl=3764,
    row_gl=773,
    row_l2=161,
    row_aliased=4650,
    crowd_l2=6021,
    crowd_l1=2262,
    crowd_panel=500,
    line_dram=5260,
    hidden_dram=1470,
    stream_dram=1800,
    turn_dram=3686,
    store_dram=2453,
    run_dram=65511,
    prefetch=1962,
    shared_gl=500,
    run=8741,
    strided_factor=2,
    loop_trip=20,
    loop_setup=52,
    fork=8000000,
    kernel_setup=167,
    fma=507,
    fma_latency=4091,
    multiply_add_int=1043,
    multiply_add_int_latency=1414,
    load=749,
    store=751,
    masked_load=512,
    shuffle=582,
    vector_op=361,
    vector_op_latency=2939,
    scalar=621,
)
"""Millicycles on Intel Emerald Rapids, as `morello calibrate` wrote them: the run is
recorded in ``benchmarks/results/avx2-golden-cove.target``, and a test compares the two.
Estimates are ``fork`` and ``shared_gl``, as in `morello.targets.avx2`, and what is paid
in DRAM: no operands of the sample are larger than the last-level cache."""

AVX2_GOLDEN_COVE = dataclasses.replace(
    AVX2,
    name="avx2-golden-cove",
    l2_lines=1 << 15,
    l3_lines=1 << 21,
    coefficients=COEFFICIENTS,
)

"""AVX2 on servers with Intel's Golden Cove cores and their successors.

L2 has 2 MiB. Of the 48 KiB of L1, 12 ways, the power of two is counted that 8 ways
make. The last-level cache is one for all cores of a socket: 128 MiB can be counted on.
"""

import dataclasses

from morello.targets.avx2 import AVX2
from morello.targets.coefficients import Coefficients

COEFFICIENTS = Coefficients(
    line_gl=4296,
    line_l2=291,
    hidden_gl=1231,
    hidden_l2=219,
    stream_gl=50,
    stream_l2=50,
    store_gl=1125,
    store_l2=4277,
    turn_gl=5000,
    row_gl=788,
    row_l2=189,
    row_aliased=4967,
    crowd_l2=6021,
    crowd_l1=2300,
    crowd_panel=500,
    line_dram=5260,
    hidden_dram=1470,
    stream_dram=1800,
    turn_dram=3686,
    store_dram=2453,
    run_dram=65511,
    prefetch=1962,
    shared_gl=500,
    run=9318,
    strided_factor=2,
    loop_trip=25,
    loop_setup=60,
    fork=8000000,
    kernel_setup=205,
    fma=533,
    fma_latency=4301,
    multiply_add_int=1109,
    multiply_add_int_latency=1414,
    load=725,
    store=844,
    masked_load=592,
    shuffle=641,
    vector_op=351,
    vector_op_latency=3021,
    scalar=645,
)

AVX2_GOLDEN_COVE = dataclasses.replace(
    AVX2,
    name="avx2-golden-cove",
    l2_lines=1 << 15,
    l3_lines=1 << 21,
    coefficients=COEFFICIENTS,
)

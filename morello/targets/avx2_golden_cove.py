"""AVX2 on servers with Intel's Golden Cove cores and their successors.

L2 has 2 MiB. Of the 48 KiB of L1, 12 ways, the power of two is counted that 8 ways
make. The last-level cache is one for all cores of a socket: 128 MiB can be counted on.
"""

import dataclasses

from morello.targets.avx2 import AVX2
from morello.targets.coefficients import Coefficients

COEFFICIENTS: Coefficients = AVX2.coefficients

AVX2_GOLDEN_COVE = dataclasses.replace(
    AVX2,
    name="avx2-golden-cove",
    l2_lines=1 << 15,
    l3_lines=1 << 21,
    coefficients=COEFFICIENTS,
)

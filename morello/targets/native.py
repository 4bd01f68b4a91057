"""The known target whose costs were measured on cores as those of this machine.

Apart from `text.py`, which asks only for the name ``native``, so that whoever names a
target need not load LLVM.
"""

from morello.targets.avx2 import AVX2
from morello.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.targets.avx2_zen3 import AVX2_ZEN3
from morello.targets.host import host
from morello.targets.target import Target

_GOLDEN_COVE = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")

_TARGETS = {**dict.fromkeys(_GOLDEN_COVE, AVX2_GOLDEN_COVE), "znver3": AVX2_ZEN3}
"""By the name that LLVM has for a CPU. Clients of the same cores have other caches."""


def native_target(cpu: str | None = None) -> Target:
    """The target that is nearest to a CPU; `AVX2` for one that is not listed.

    Whether the CPU can run it is not asked: who only reads code need not.

    Args:
        cpu: its name as LLVM spells it; that of this machine if it is left out.
    """
    return _TARGETS.get(host().cpu if cpu is None else cpu, AVX2)

"""The known target whose costs were measured on cores as those of this machine.

Apart from `text.py`, which asks only for the name ``native``, so that whoever names a
target need not load LLVM.
"""

from morello.errors import TargetError
from morello.targets.avx2 import AVX2
from morello.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.targets.host import host, missing_features
from morello.targets.target import Target

_GOLDEN_COVE = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")

_TARGETS = dict.fromkeys(_GOLDEN_COVE, AVX2_GOLDEN_COVE)
"""By the name that LLVM has for a CPU. Clients of the same cores have other caches."""


def native_target(cpu: str | None = None) -> Target:
    """The target that is nearest to a CPU; `AVX2` for one that is not listed.

    Args:
        cpu: its name as LLVM spells it; that of this machine if it is left out.

    Raises:
        TargetError: this machine lacks what every target needs.
    """
    found = _TARGETS.get(host().cpu if cpu is None else cpu, AVX2)
    if cpu is None:
        changes = ",".join(f"+{feature}" for feature in found.features)
        missing = missing_features(found.cpu, changes)
        if missing:
            raise TargetError(
                f"no target is for this machine: it lacks {', '.join(missing)}",
                "name a target to make code for another machine",
            )
    return found

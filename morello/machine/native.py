"""The known target whose costs were measured on cores as those of this machine.

Apart from `text.py`, which asks only for the name ``native``, so that whoever names a
target need not load LLVM.
"""

from morello.machine.avx2 import AVX2
from morello.machine.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.machine.avx2_zen3 import AVX2_ZEN3
from morello.machine.host import Host, host
from morello.machine.target import Target

_GOLDEN_COVE = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")

_MEASURED = "znver4"
"""The CPU that the costs of `AVX2` were measured on."""

_BY_NAME = {**dict.fromkeys(_GOLDEN_COVE, AVX2_GOLDEN_COVE), "znver3": AVX2_ZEN3}
"""By the name that LLVM has for a CPU. Clients of the same cores have other caches."""

_BY_FEATURE = {"amx-tile": AVX2_GOLDEN_COVE}
"""By what only one family of cores can run. LLVM goes by the model number first, which
a hypervisor may have set to that of a CPU of years before."""


def native_target(machine: Host | None = None) -> Target:
    """The target that is nearest to a machine; `AVX2` for one that is not listed.

    Whether the machine can run it is not asked: who only reads code need not.

    Args:
        machine: its CPU, by name and by features; this one if it is left out.
    """
    return _measured(host() if machine is None else machine) or AVX2


def unmeasured_cpu(machine: Host | None = None) -> str | None:
    """The name of a CPU whose costs no known target has; None if one has them.

    Args:
        machine: as for `native_target`.
    """
    machine = host() if machine is None else machine
    return machine.cpu if _measured(machine) is None else None


def _measured(machine: Host) -> Target | None:
    """The target whose costs were measured on cores as a machine's."""
    for feature, target in _BY_FEATURE.items():
        if feature in machine.features:
            return target
    return AVX2 if machine.cpu == _MEASURED else _BY_NAME.get(machine.cpu)

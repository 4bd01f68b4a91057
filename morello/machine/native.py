"""The known target that is nearest to this machine.

CPUs whose costs were measured have the target of their cores. Others have the one with
the most of their instructions; with AVX-512 and without its dot products that is
`AVX512`. A target for which a CPU lacks an instruction is never chosen.

Apart from `text.py`, which asks only for the name ``native``, so that whoever names a
target need not load LLVM.
"""

from morello.machine.host import Host, host
from morello.machine.target import Target
from morello.machine.targets.avx2 import AVX2
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.machine.targets.avx2_vnni import AVX2_VNNI
from morello.machine.targets.avx2_zen3 import AVX2_ZEN3
from morello.machine.targets.avx2_zen5 import AVX2_ZEN5
from morello.machine.targets.avx512 import AVX512
from morello.machine.targets.avx512_amx import AVX512_AMX
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16
from morello.machine.targets.avx512_zen4 import AVX512_ZEN4
from morello.machine.targets.avx512_zen5 import AVX512_ZEN5

_GOLDEN_COVE = (AVX512_AMX, AVX512_VNNI_BF16, AVX2_GOLDEN_COVE)
"""The second where the system withholds tiles, the third where a hypervisor hides
AVX-512."""

_SERVERS = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")

_BY_NAME = {
    **dict.fromkeys(_SERVERS, _GOLDEN_COVE),
    "znver3": (AVX2_ZEN3,),
    "znver4": (AVX512_ZEN4, AVX2),
    "znver5": (AVX512_ZEN5, AVX2_ZEN5),
}
"""By the name that LLVM has for a CPU, the targets that were measured on its cores, the
best first. Clients of the same cores have other caches."""

_BY_FEATURE = {"amx-tile": _GOLDEN_COVE}
"""By what only one family of cores can run. LLVM goes by the model number first, which
a hypervisor may have set to that of a CPU of years before."""

_UNMEASURED = (AVX512_VNNI_BF16, AVX512, AVX2_VNNI)
"""Targets for CPUs that nobody has measured, the best first."""


def native_target(machine: Host | None = None) -> Target:
    """The target that is nearest to a machine; `AVX2` for one with nothing more.

    Whether the machine can run that is not asked: who only reads code need not.

    Args:
        machine: its CPU, by name and by features; this one if it is left out.
    """
    machine = host() if machine is None else machine
    features = machine.features - machine.withheld
    known = (*_measured(machine), *_UNMEASURED)
    return next((t for t in known if features.issuperset(t.features)), AVX2)


def unmeasured_cpu() -> str | None:
    """The name of this CPU, if no known target has its costs; else None."""
    machine = host()
    return None if _measured(machine) else machine.cpu


def _measured(machine: Host) -> tuple[Target, ...]:
    """The targets whose costs were measured on cores as a machine's."""
    for feature, targets in _BY_FEATURE.items():
        if feature in machine.features:
            return targets
    return _BY_NAME.get(machine.cpu, ())

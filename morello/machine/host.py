"""Detection of the host machine: CPU, features, cores and caches.

`host()` is the entry point. `missing_features` compares it with what code was built
for: running an instruction that the CPU lacks would end the process.
"""

import dataclasses
import functools
import os
import platform
from pathlib import Path

import llvmlite.binding as lb

from morello.errors import TargetError
from morello.machine.architectures import HOST

_SYSFS_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclasses.dataclass(frozen=True)
class Cache:
    """A data or unified cache as one core sees it.

    Args:
        level: 1 is the nearest to the core.
        size: bytes.
        line: bytes of a line.
    """

    level: int
    size: int
    line: int


@dataclasses.dataclass(frozen=True)
class Host:
    """Machine that this process runs on: CPU, features and caches.

    Args:
        cpu: the name that LLVM has for it, e.g. ``znver4``.
        features: the instruction sets that it can run, as LLVM spells them.
        known_features: every feature that LLVM asked it about.
        cores: processors that this process may use (its affinity).
        caches: data caches, the nearest first; empty where the system does not say.
        withheld: of the features those that the system lets no process use.
    """

    cpu: str
    features: frozenset[str]
    known_features: frozenset[str]
    cores: int
    caches: tuple[Cache, ...]
    withheld: frozenset[str] = frozenset()

    def cache(self, level: int) -> Cache | None:
        """The data cache of a level, or None where it is not known."""
        return next((c for c in self.caches if c.level == level), None)


def _bytes(text: str) -> int:
    """A size as sysfs writes it (``32K``) in bytes."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def read_caches(folder: Path = _SYSFS_CACHES) -> tuple[Cache, ...]:
    """The data caches that sysfs describes, the nearest first.

    Args:
        folder: the ``cache`` folder of one processor. An index in it that cannot be
            read is left out: containers often hide a part.
    """
    caches = []
    for index in sorted(folder.glob("index*")):

        def read(name: str, index: Path = index) -> str:
            return (index / name).read_text().strip()

        try:
            if read("type") == "Instruction":
                continue
            cache = Cache(
                level=int(read("level")),
                size=_bytes(read("size")),
                line=int(read("coherency_line_size")),
            )
        except (OSError, ValueError):
            continue
        caches.append(cache)
    return tuple(sorted(caches, key=lambda cache: cache.level))


@functools.cache
def _processor() -> tuple[str, frozenset[str], frozenset[str]]:
    """CPU name, its features, and every feature asked about; these do not change."""
    asked = lb.get_host_cpu_features()
    has = frozenset(name for name, present in asked.items() if present)
    return lb.get_host_cpu_name(), has, frozenset(asked)


def host() -> Host:
    """This machine, with the affinity that the process has now."""
    name, has, asked = _processor()
    cores, withheld = len(os.sched_getaffinity(0)), has & HOST.withheld()
    return Host(name, has, asked, cores, read_caches(), withheld)


def model_name() -> str:
    """The processor as Linux names it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


@functools.cache
def processor_name() -> str:
    """An identification of this processor: LLVM's and Linux's names for it."""
    return f"{_processor()[0]}, {model_name()}"


def required_features(cpu: str, features: str = "") -> frozenset[str]:
    """The instruction sets that code built for a CPU and features may use.

    Args:
        cpu: a CPU name as LLVM spells it, e.g. ``haswell``.
        features: changes to it as LLVM spells them: ``+avx512f,-fma``. All that are
            added count; of the CPU's own those that LLVM chooses by itself.

    Raises:
        TargetError: a name that is not known.
    """
    if cpu not in HOST.cpus:
        raise TargetError(
            f"unknown CPU {cpu!r}", f"use one of {', '.join(sorted(HOST.cpus))}"
        )
    required = set(HOST.cpus[cpu] - HOST.never_chosen)
    known = _processor()[2] | HOST.tuning
    for change in filter(None, features.split(",")):
        sign, name = change[0], change[1:]
        if sign not in "+-" or name not in known:
            raise TargetError(
                f"unknown CPU feature {change!r}",
                "write +name or -name with a name that LLVM has, e.g. +avx512f",
            )
        if sign == "+" and name not in HOST.tuning:
            required.add(name)
        else:
            required.discard(name)
    return frozenset(required)


def missing_features(cpu: str, features: str = "") -> tuple[str, ...]:
    """CPU features that code built for a CPU needs and this machine lacks, sorted.

    Raises:
        TargetError: a name that is not known.
    """
    return tuple(sorted(required_features(cpu, features) - _processor()[1]))

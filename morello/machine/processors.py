"""How many processors this process may keep busy: affinity and quotas of cgroups."""

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_PROC = Path("/proc/self")


def processors() -> int:
    """The processors of the affinity mask, or fewer if a quota grants less time."""
    count = len(os.sched_getaffinity(0))
    quota = processor_quota()
    return count if quota is None else max(1, min(count, math.ceil(quota)))


def processor_quota(proc: Path = _PROC) -> float | None:
    """The processor time that cgroups (v1 and v2) grant, in processors.

    Args:
        proc: the folder of the process in ``/proc``.

    Returns:
        The least of its group and those around it; None without a limit.
    """
    limits = []
    for folder in _folders(proc):
        limit = _limit_v2(folder) or _limit_v1(folder)
        if limit is not None:
            limits.append(limit)
    return min(limits, default=None)


def _folders(proc: Path) -> Iterator[Path]:
    """The folders of the groups of a process, each with those around it."""
    mounts = list(_mounts(proc))
    for line in _lines(proc / "cgroup"):
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        for kind, options, root, point in mounts:
            if _is_of(kind, options, controllers):
                yield from _upwards(point, root, path)


def _is_of(kind: str, options: str, controllers: str) -> bool:
    """Whether a mount has the group of a line: all of v2, or "cpu" of v1."""
    if kind == "cgroup2":
        return not controllers
    return "cpu" in controllers.split(",") and "cpu" in options.split(",")


def _mounts(proc: Path) -> Iterator[tuple[str, str, str, Path]]:
    """The kind, controllers, root and mount point of each cgroup file system."""
    for line in _lines(proc / "mountinfo"):
        left, _, right = line.partition(" - ")
        fields, what = left.split(" "), right.split(" ")
        if len(fields) > 4 and len(what) > 2 and what[0] in ("cgroup", "cgroup2"):
            yield what[0], what[2], fields[3], Path(_plain(fields[4]))


def _plain(text: str) -> str:
    """A path of ``mountinfo``, which writes blanks as octal numbers."""
    for character in " \t\n\\":
        text = text.replace(f"\\{ord(character):03o}", character)
    return text


def _upwards(point: Path, root: str, path: str) -> Iterator[Path]:
    """The folder of a group below a mount, and those around it, the mount included."""
    group, top = PurePosixPath(path), PurePosixPath(root)
    inner = group.relative_to(top) if group.is_relative_to(top) else PurePosixPath()
    folder = point / inner
    yield folder
    for _ in inner.parts:
        folder = folder.parent
        yield folder


def _limit_v2(folder: Path) -> float | None:
    words = " ".join(_lines(folder / "cpu.max")).split()
    return _ratio(words[0], words[1]) if len(words) == 2 else None


def _limit_v1(folder: Path) -> float | None:
    quota = "".join(_lines(folder / "cpu.cfs_quota_us"))
    period = "".join(_lines(folder / "cpu.cfs_period_us"))
    return _ratio(quota, period)


def _ratio(quota: str, period: str) -> float | None:
    """The ratio of two numbers of microseconds; None without a limit (``max``, -1)."""
    try:
        share = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):
        return None
    return share if share > 0 else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []

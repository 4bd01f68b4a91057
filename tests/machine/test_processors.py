"""The processor time that cgroups grant."""

from pathlib import Path

import pytest

from morello.machine.processors import processor_quota, processors

pytestmark = pytest.mark.quick

V2 = "31 23 0:28 / {mount} rw - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "32 31 0:29 {root} {mount} rw - cgroup cgroup rw,cpu,cpuacct\n"


def proc(folder: Path, groups: str, mounts: str) -> Path:
    """A folder of ``/proc`` of a process in these groups."""
    folder_of_proc = folder / "proc"
    folder_of_proc.mkdir()
    (folder_of_proc / "cgroup").write_text(groups)
    (folder_of_proc / "mountinfo").write_text(mounts)
    return folder_of_proc


def group(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("max 100000", None),
        ("100000 100000", 1.0),
        ("150000 100000", 1.5),
        ("nonsense", None),
        ("1 0", None),
        ("", None),
    ],
)
def test_version_2(text: str, quota: float | None, tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    group(mount / "a" / "b", cpu__max=text)
    place = proc(tmp_path, "0::/a/b\n", V2.format(mount=mount))
    assert processor_quota(place) == quota


def test_the_groups_around_count_too(tmp_path: Path) -> None:
    mount = tmp_path / "with blank"
    group(mount / "a" / "b", cpu__max="max 100000")
    group(mount / "a", cpu__max="200000 100000")
    group(mount, cpu__max="300000 100000")
    shown = str(mount).replace(" ", "\\040")
    place = proc(tmp_path, "0::/a/b\n", V2.format(mount=shown))
    assert processor_quota(place) == 2.0


@pytest.mark.parametrize(
    ("root", "path"), [("/", "/a"), ("/docker/7", "/docker/7/a"), ("/x", "/../a")]
)
def test_version_1(root: str, path: str, tmp_path: Path) -> None:
    """Mounted whole, from the group of a container, or from one that is not shown."""
    mount = tmp_path / "cpu"
    quota = {"cpu__cfs_quota_us": "250000", "cpu__cfs_period_us": "100000"}
    group(mount / "a" if "x" not in root else mount, **quota)
    groups = f"4:memory:/m\n3:cpu,cpuacct:{path}\n0::/\n"
    mounts = V1.format(root=root, mount=mount) + V2.format(mount=tmp_path / "none")
    assert processor_quota(proc(tmp_path, groups, mounts)) == 2.5
    group(mount / "a" if "x" not in root else mount, cpu__cfs_quota_us="-1")
    assert processor_quota(tmp_path / "proc") is None


def test_where_nothing_is_said(tmp_path: Path) -> None:
    assert processor_quota(tmp_path) is None
    assert processor_quota(proc(tmp_path, "rubbish\n", "more\n - rubbish\n")) is None


def test_this_machine() -> None:
    assert processors() >= 1

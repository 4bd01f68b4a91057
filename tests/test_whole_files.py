"""Files that are written whole or not at all."""

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import morello
from morello.tools.array_files import write_operands
from morello.tools.input_output import UsageError, write_output
from morello.whole_files import write_new, write_whole
from tests.quality.compiled import unsearched

pytestmark = pytest.mark.quick

LIMIT = 500


def limited(write: Callable[[], object]) -> str:
    """What is said where no file may have more than `LIMIT` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    try:
        with pytest.raises((OSError, UsageError)) as caught:
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".o", ".s", ".ll", ".h"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_kernel_that_does_not_fit_leaves_the_old_one(
    suffix: str, is_there: bool, tmp_path: Path
) -> None:
    kernel: morello.Kernel = unsearched("move:7x9:f32")
    path = tmp_path / f"k{suffix}"
    if is_there:
        path.write_text("old")
    assert "File too large" in limited(lambda: kernel.save(path, "k"))
    assert [p.name for p in tmp_path.iterdir()] == [path.name] * is_there
    assert not is_there or path.read_text() == "old"
    kernel.save(path, "k")
    assert path.stat().st_size > LIMIT


def test_a_missing_folder_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "none" / "k.o"
    message = f"cannot save '{path}': No such file or directory; give a file"
    with pytest.raises(morello.MorelloError, match=message):
        unsearched("move:7x9:f32").save(path)


def test_outputs_of_the_tools_alike(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    array = unsearched("fill:200x2")()
    assert "cannot write" in limited(lambda: write_output(str(path), "x" * 1000))
    assert "cannot write" in limited(lambda: write_operands(str(path), {"out": array}))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    new = tmp_path / ("n" * 255)
    write_whole(new, b"")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(new.stat().st_mode) == 0o666 & ~mask


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    write_whole(Path(f"/dev/fd/{writer}"), b"through")
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"through"


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_a_new_file_replaces_and_follows_nothing(kind: str, tmp_path: Path) -> None:
    path, real = tmp_path / "path", tmp_path / "real"
    real.write_text("old")
    match kind:
        case "file":
            path.write_text("old")
        case "link":
            path.symlink_to(real)
        case "dangling":
            path.symlink_to(tmp_path / "none")
        case _:
            path.mkdir()
    with pytest.raises(FileExistsError):
        write_new(path, b"new")
    assert real.read_text() == "old"
    assert not (tmp_path / "none").exists()

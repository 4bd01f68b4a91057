"""Target files: ``@FILE``."""

from pathlib import Path

import pytest

from morello.errors import TargetError
from morello.machine import AVX2, find_target, print_target
from morello.machine.digests import COST_MODEL, digests, digests_of
from morello.machine.file import MAX_BYTES

pytestmark = pytest.mark.quick


def test_a_file_is_its_text(tmp_path: Path) -> None:
    path = tmp_path / "my own.target"
    target = find_target("avx2{threads=2,fork=1000}")
    path.write_text(f"# a comment\n\n{print_target(target)}  # another\n")
    assert find_target(f"@{path}") == target
    assert find_target(f" @{path}\n") == target


def test_a_text_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("avx2{\n  threads=2,  # of one core each\n  fork=1000\n}\n")
    assert print_target(find_target(f"@{path}")) == "avx2{threads=2,fork=1000}"


def test_a_file_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t").write_text("avx2{fork=7}")
    assert find_target("@~/t").coefficients.fork == 7


def test_a_kernel_that_has_changed_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "t"
    was = digests_of(AVX2.kernels)
    rows = ",\n ".join(f"{name}={digest}" for name, digest in was.items())
    path.write_text(f"avx2{{fork=7}}\nmeasured{{{rows}}}\n")
    assert not {COST_MODEL, *AVX2.kernels} & {*find_target(f"@{path}").stale}
    changed = rows.replace(was["gemm_tile"], "0").replace(was["load"], "1")
    path.write_text(f"avx2{{fork=7}}\nmeasured{{{changed}}}\n")
    stale = find_target(f"@{path}").stale
    assert {*stale} & {COST_MODEL, *AVX2.kernels} == {"gemm_tile", "load"}
    path.write_text("avx2{fork=7} measured{}")
    assert find_target(f"@{path}").stale == tuple(digests())
    path.write_text("avx2{fork=7}")
    assert find_target(f"@{path}").stale == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no target; write one outside of comments"),
        (b"# avx2\n", "holds no target"),
        (b"\xff\xfe", "is not UTF-8 text; save it as UTF-8"),
        (b"vax", "t: unknown target 'vax'; use one of avx2"),
        (b"@t", "t: unknown target '@t'"),
        (b"avx2 avx2", "t: unknown target 'avx2 avx2'"),
        (b"avx2{speed=3}", r"t: the target 'avx2\{speed=3\}' has no number 'speed'"),
        (b"avx2{fork=fast}", "t: 'fork=fast' in the target .* gives no number"),
        (b"avx2{fork=7}measured{load=x}", "has 'load=x' among its digests; write"),
        (b"avx2{fork=7}measured{load=1,load=1}", "has 'load=1' among its digests"),
        (b"#" * (MAX_BYTES + 1), "has more than 1048576 bytes"),
    ],
)
def test_what_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(TargetError, match=message):
        find_target(f"@{path}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the target '@' names no file; write @FILE"),
        ("/nowhere/t", "'/nowhere/t' cannot be read: No such file or directory; give"),
        ("/", "'/' cannot be read: Is a directory"),
        ("a\0b", "cannot be read: .*null"),
        ("~nobody-has-this-name/t", "cannot be read: .*home"),
    ],
)
def test_what_is_no_file(name: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        find_target(f"@{name}")

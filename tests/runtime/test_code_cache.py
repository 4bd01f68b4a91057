"""`compile_cached`: machine code that a process before has made."""

import ctypes
import os
import zlib
from pathlib import Path

import pytest

from morello.compiler.code_folder import code_folder, folder_beside
from morello.errors import TargetError
from morello.runtime import code_cache
from morello.runtime.code_cache import clear, compile_cached, entries

CODE = "define i32 @f(i32 %x) {{\n  %y = add i32 %x, {number}\n  ret i32 %y\n}}\n"


def called(folder: Path | None, number: int = 1, features: str = "") -> int:
    text = CODE.format(number=number)
    engine = compile_cached(text, cpu="x86-64", features=features, folder=folder)
    return int(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.address("f"))(41))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were compiled."""
    texts = []
    whole = code_cache.compile_object

    def compile_object(text: str, **options: str) -> object:
        texts.append(text)
        return whole(text, **options)

    monkeypatch.setattr(code_cache, "compile_object", compile_object)
    return texts


def test_the_second_time_nothing_is_compiled(
    tmp_path: Path, compiled: list[str]
) -> None:
    folder = tmp_path / "code"
    assert [called(folder), called(folder), called(folder, 2)] == [42, 42, 43]
    assert len(compiled) == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in entries(folder)} == {0o600}
    one, other = (
        compile_cached(CODE.format(number=1), cpu="x86-64", folder=where).compiled
        for where in (folder, None)
    )
    assert one == other
    clear(folder)
    assert not entries(folder)
    assert called(folder) == 42
    assert len(compiled) == 4


def test_what_is_damaged_or_foreign_is_compiled_again(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called(tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()

    def is_compiled_again() -> bool:
        before = len(compiled)
        return called(tmp_path) == 42 and len(compiled) == before + 1

    flipped = bytes([whole[0] ^ 1]) + whole[1:]
    shorter = zlib.compress(zlib.decompress(whole[32:])[:-1])  # which zlib can read
    damaged = b"", whole[:-1], whole[:40] + b"x" + whole[41:], b"\0" * 100
    for data in (*damaged, flipped, whole[:32] + shorter):
        entry.write_bytes(data)
        assert is_compiled_again()
    assert not is_compiled_again()
    entry.chmod(0o620)
    assert is_compiled_again()
    entry.unlink()
    (tmp_path / "elsewhere").write_bytes(whole)
    entry.symlink_to(tmp_path / "elsewhere")
    assert is_compiled_again()
    entry.unlink()
    os.mkfifo(entry)  # which has no end to wait for
    assert is_compiled_again()
    tmp_path.chmod(0o770)
    assert is_compiled_again()
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: entry.stat().st_uid + 1)
    assert is_compiled_again()


def test_code_for_another_cpu_is_not_run(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called(tmp_path, features="+sse4.2")
    called(tmp_path)
    called(tmp_path, features="+sse4.2")
    assert len(compiled) == 2
    from morello.runtime import engine

    monkeypatch.setattr(engine, "missing_features", lambda cpu, features: ["sse4.2"])
    with pytest.raises(TargetError, match=r"lacks sse4\.2"):
        called(tmp_path, features="+sse4.2")
    assert len(compiled) == 2


def test_the_folder_has_a_limit(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        called(tmp_path, number)
    for age, path in enumerate(entries(tmp_path)):
        os.utime(path, (age, age))
    called(tmp_path, 1)  # is read last
    size = max(path.stat().st_size for path in entries(tmp_path))
    monkeypatch.setattr(code_cache, "LIMIT", 2 * size + size // 2)
    young, old = (tmp_path / f".{name}.new" for name in ("young", "old"))
    for path in (young, old):
        path.touch()
    os.utime(old, (0, 0))
    called(tmp_path, 3)
    assert young.exists()
    assert not old.exists()
    young.unlink()
    assert len(entries(tmp_path)) == 2
    called(tmp_path, 1)
    assert len(compiled) == 3


def test_where_nothing_can_be_written_it_is_compiled(
    tmp_path: Path, compiled: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert called(tmp_path / "file") == 42
    assert called(tmp_path / "not" / "there") == 42
    assert called(None) == 42
    assert len(compiled) == 3


def test_the_folder_is_beside_the_users_own_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MORELLO_CODE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "morello" / "code"
    assert code_folder() == folder
    assert folder_beside(tmp_path / "of_others.db") == folder
    assert folder_beside(None) is None  # MORELLO_DB is none here
    assert folder_beside("none") is None
    monkeypatch.setenv("MORELLO_CODE", str(tmp_path / "other"))
    assert folder_beside(tmp_path / "some.db") == tmp_path / "other"
    monkeypatch.setenv("MORELLO_CODE", "none")
    assert folder_beside(tmp_path / "some.db") is None

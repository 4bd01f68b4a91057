"""The permission to use tiles: asked for once by code that has some, or refused."""

import errno

import pytest

import morello.machine.tile_permission as module
from morello.errors import TargetError
from morello.machine.host import host
from morello.machine.targets.avx512_amx import AVX512_AMX
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16
from morello.machine.tile_permission import TILE_FEATURES, permit, used, withheld
from morello.runtime.engine import compile_llvm

pytestmark = pytest.mark.quick

TILES = frozenset(AVX512_AMX.features)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Requests to the system, each of which it grants."""
    return answering(monkeypatch, 0)


def answering(monkeypatch: pytest.MonkeyPatch, code: int) -> list[tuple[int, int]]:
    """Have the system answer with an errno."""
    asked: list[tuple[int, int]] = []

    def call(request: int, argument: int) -> int:
        asked.append((request, argument))
        return code

    monkeypatch.setattr(module, "_arch_prctl", call)
    module._request.cache_clear()
    return asked


@pytest.fixture(autouse=True)
def forgotten() -> None:
    module._request.cache_clear()


def test_it_is_asked_for_once_and_only_for_tiles(calls: list[tuple[int, int]]) -> None:
    permit(frozenset({"avx512f", "avx2"}))
    assert not calls
    for features in (TILES, frozenset({"amx-int8"}), TILES):
        permit(features)
    assert calls == [(0x1023, 18)]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "sigaltstack.*give it 16 KiB"),
        (errno.EPERM, "container forbids arch_prctl; allow it"),
        (errno.EOPNOTSUPP, "started without them; compile for a target without them"),
        (errno.EINVAL, "does not know them; use Linux 5.16"),
        (errno.EIO, "Input/output error; compile for a target without them"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    asked = answering(monkeypatch, code)
    for _ in range(2):  # it may be granted later
        with pytest.raises(TargetError, match=f"does not permit .*tiles.*{words}"):
            permit(TILES)
    assert len(asked) == 2


CODE = """
declare void @llvm.x86.ldtilecfg(ptr)
define void @f(ptr %p) {
  call void @llvm.x86.ldtilecfg(ptr %p)
  ret void
}
"""


def test_code_without_tiles_needs_none() -> None:
    """Nor the permission: most programs of the target have none."""
    assert used(TILES, CODE) == TILES
    plain = used(TILES, "define void @f() { ret void }")
    assert plain == frozenset(AVX512_VNNI_BF16.features)


def test_code_with_tiles_is_loaded_where_cpu_and_system_have_them() -> None:
    has = "amx-tile" in host().features

    def load() -> None:
        compile_llvm(CODE, cpu="x86-64", features="+amx-tile")

    if has and not withheld():
        load()
        return
    reason = "does not permit" if has else "its CPU lacks amx-tile"
    with pytest.raises(TargetError, match=reason):
        load()


def test_the_system_withholds_all_or_nothing() -> None:
    assert withheld() in (frozenset(), TILE_FEATURES)
    assert host().withheld == withheld() & host().features

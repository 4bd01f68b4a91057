"""What the machine has."""

import os
from pathlib import Path

import pytest

import morello.machine.host as module
from morello.errors import TargetError
from morello.machine.host import (
    Cache,
    host,
    missing_features,
    read_caches,
    required_features,
)

pytestmark = pytest.mark.quick


def test_this_machine() -> None:
    here = host()
    assert here.cpu
    assert "sse2" in here.features
    assert here.features <= here.known_features
    assert here.cores == len(os.sched_getaffinity(0))
    assert hash(here) == hash(host())


def test_affinity_is_read_at_each_call() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert host().cores == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("hidden", ["rdrnd", "pclmul", "xsaveopt", "xsave", "aes"])
def test_a_virtual_machine_may_hide_what_no_kernel_uses(
    hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, has, asked = module._processor()
    monkeypatch.setattr(module, "_processor", lambda: (name, has - {hidden}, asked))
    assert missing_features("haswell", "+avx2,+fma") == ()
    assert hidden in missing_features("haswell", f"+{hidden}")


@pytest.mark.parametrize("hidden", ["avx2", "fma", "bmi2", "popcnt", "movbe"])
def test_what_llvm_may_choose_must_be_there(
    hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, has, asked = module._processor()
    monkeypatch.setattr(module, "_processor", lambda: (name, has - {hidden}, asked))
    assert missing_features("haswell") == (hidden,)


def describe(folder: Path, index: int, **files: str) -> None:
    place = folder / f"index{index}"
    place.mkdir()
    for name, text in files.items():
        (place / name).write_text(text + "\n")


def test_caches(tmp_path: Path) -> None:
    line = {"coherency_line_size": "64"}
    describe(tmp_path, 0, level="2", type="Unified", size="1M", **line)
    describe(tmp_path, 1, level="1", type="Data", size="48K", **line)
    describe(tmp_path, 2, level="1", type="Instruction", size="32K", **line)
    describe(tmp_path, 3, level="3", type="Unified", size="33554432", **line)
    describe(tmp_path, 4, level="4", type="Unified", size="")
    describe(tmp_path, 5, level="x", type="Data", size="1K")
    assert read_caches(tmp_path) == (
        Cache(1, 48 << 10, 64),
        Cache(2, 1 << 20, 64),
        Cache(3, 32 << 20, 64),
    )


def test_a_machine_that_hides_its_caches(tmp_path: Path) -> None:
    assert read_caches(tmp_path / "none") == ()


def test_a_level_that_is_not_there() -> None:
    here = host()
    assert here.cache(9) is None
    for cache in here.caches:
        assert here.cache(cache.level) is not None


def test_features_of_a_cpu() -> None:
    assert {"avx2", "fma"} <= required_features("haswell")
    assert "avx512f" not in required_features("haswell")
    assert "fma" not in required_features("haswell", "-fma")
    assert "avx512f" in required_features("haswell", "+avx512f,-fma")
    assert required_features("x86-64-v4", "+prefer-256-bit") == required_features(
        "x86-64-v4"
    )


def test_what_is_missing() -> None:
    here = host()
    assert missing_features("x86-64") == ()
    lacking = sorted(here.known_features - here.features)[:2]
    changes = ",".join(f"+{name}" for name in lacking)
    assert missing_features("x86-64", changes) == tuple(lacking)


def test_refusals() -> None:
    with pytest.raises(TargetError, match=r"unknown CPU 'z80'; use one of haswell,"):
        required_features("z80")
    with pytest.raises(TargetError, match=r"unknown CPU feature '\+z'; write \+name"):
        required_features("haswell", "+z")

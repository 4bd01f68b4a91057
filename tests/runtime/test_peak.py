"""The measured peak of multiply-adds a second."""

import re

import pytest

from morello.errors import TargetError
from morello.runtime import peak
from morello.runtime.llvm_text import refuse_hazards


def test_the_loop_is_multiply_adds_on_registers_alone() -> None:
    engine = peak._engine("f32")
    refuse_hazards(engine.llvm)
    loop = re.search(r"^\.L\w+:.*?\bj\w+\s+\.L", engine.asm, re.DOTALL | re.MULTILINE)
    assert loop is not None
    body = loop.group()
    assert body.count("vfmadd") % 12 == 0
    assert body.count("vfmadd") >= 12
    assert "(" not in body


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_a_plausible_rate(dtype: str) -> None:
    # From a slow core to more than any: 2 vectors a cycle at 0.5 to 10 GHz.
    assert 8 < peak.measure_fma_peak(dtype, 0.05) < 320


def test_the_measured_peak_repeats() -> None:
    rates = [peak.measure_fma_peak(seconds=0.1) for _ in range(3)]
    assert max(rates) / min(rates) < 1.5


def test_unknown_dtype() -> None:
    with pytest.raises(
        TargetError, match="no peak is measured for dtype 'u8'; use f32"
    ):
        peak.measure_fma_peak("u8")

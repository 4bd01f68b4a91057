"""The measured peak of multiply-adds a second."""

import re

import pytest

from morello.errors import TargetError
from morello.machine import TARGETS
from morello.machine.isa import Isa
from morello.runtime import peak
from morello.runtime.llvm_text import refuse_hazards
from morello.spec import Dtype
from tests.kernels.harness import skip_where_it_cannot_run


def test_the_loop_is_multiply_adds_on_registers_alone() -> None:
    engine = peak._engine("f32")
    refuse_hazards(engine.llvm)
    loop = re.search(r"^\.L\w+:.*?\bj\w+\s+\.L", engine.asm, re.DOTALL | re.MULTILINE)
    assert loop is not None
    body = loop.group()
    assert body.count("vfmadd") % 12 == 0
    assert body.count("vfmadd") >= 12
    assert "(" not in body


ISAS = {target.isa.name: target.isa for target in TARGETS.values()}


@pytest.mark.parametrize("isa", ISAS.values(), ids=list(ISAS))
def test_a_plausible_rate(isa: Isa) -> None:
    skip_where_it_cannot_run(isa)
    for dtype in peak.peak_dtypes(isa):
        each = {"u8": 4, "bf16": 2}.get(dtype, 1) * isa.lanes(Dtype.F32)
        # From a slow core to more than any: 2 vectors a cycle at 0.5 to 10 GHz.
        assert each < peak.measure_peak(dtype, 0.05, isa) < 40 * each


def test_the_measured_peak_repeats() -> None:
    rates = [peak.measure_peak(seconds=0.1) for _ in range(3)]
    assert max(rates) / min(rates) < 1.5


def test_unknown_dtype() -> None:
    with pytest.raises(
        TargetError, match="no peak is measured for dtype 'u8' in avx2; use f32"
    ):
        peak.measure_peak("u8")

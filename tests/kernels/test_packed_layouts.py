"""Kernels of one and two operands in packs of either dimension, or of both: what they
take is right, wherever they were made for it or not."""

import itertools
import random

import pytest

from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.machine.isa import AVX2 as AVX2_ISA
from morello.spec import L1, Dtype, Fill, Kind, Layout, Move, TensorSpec
from morello.spec import Spec as OneSpec
from tests.kernels.harness import AVX2, Case, check_random, legal
from tests.named_kinds import named

pytestmark = pytest.mark.quick

PACKS = ("0p4", "1p4", "0p8", "1p8", "0p4,1p8", "1p4,0p8", "0p8,1p2", "1p16,0p2")
ROWS = [
    Layout.parse(f"[{order}{pack and f',{pack}'}]")
    for order in ("0,1", "1,0")
    for pack in ("", *PACKS)
]
LINES = [Layout.parse(text) for text in ("[0]", "[0,0p4]", "[0,0p8]")]
KINDS: tuple[Kind, ...] = (
    Fill(2),
    Move(2),
    named("max_accum"),
    named("min_accum"),
    named("sum_accum"),
)
SIZES = ((8, 8), (5, 7), (4, 16), (1, 8), (8, 1), (3, 12), (16, 2))
MOST = 6
"""Cases of a kernel."""


def packed(kind: Kind) -> list[OneSpec]:
    """Specs of f32 in L1 of which an operand is packed."""
    pools = [ROWS if operand.rank == 2 else LINES for operand in kind.operands]
    specs = []
    for layouts in itertools.product(*pools):
        if not any(layout.is_packed for layout in layouts):
            continue
        tensors = tuple(TensorSpec(Dtype.F32, L1, of_case) for of_case in layouts)
        for sizes in SIZES:
            try:
                specs.append(OneSpec(kind, sizes, tensors, AVX2.limits))
            except SpecError:
                continue
    return specs


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_a_kernel_takes_of_packs_is_right(kind: Kind) -> None:
    specs, cases = packed(kind), []
    for name, kernel in KERNELS.items():
        if kernel.isa == AVX2_ISA:
            fitting = [spec for spec in specs if legal(name, spec)]
            chosen = random.Random(name).sample(fitting, min(MOST, len(fitting)))
            cases += [Case(name, spec) for spec in chosen]
    assert len({case.kernel for case in cases}) >= 1
    check_random(cases)

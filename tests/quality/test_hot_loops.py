"""The inner loops of programs that the search finds, in every dtype: products on
registers, no vector register on the stack."""

import re
from typing import NamedTuple

import pytest

from tests.quality.compiled import kernel
from tests.quality.machine_code import Loop, innermost

pytestmark = pytest.mark.usefixtures("one_database")


class Hot(NamedTuple):
    """A Spec, and what its hottest loop is to have.

    Args:
        text: the Spec.
        product: the instruction that multiplies, as a pattern.
        count: how often it is there, at least.
        sums: registers that are added to, at least.
    """

    text: str
    product: str
    count: int
    sums: int


_FMA, _WORDS, _BYTES = r"vfmadd\d+ps", "vpmaddwd", "vpmaddubsw"
_FROM_ZERO = r"v(?:fmadd\d+|mul)ps"
"""Where sums begin at -0 in a loop, the first are products alone."""

_BF16 = "bf16,bf16,f32"

LOOPS = (
    Hot("matmul:48x64x48:f32", _FMA, 12, 10),
    Hot(f"matmul:48x64x48:{_BF16}:l2=0", _FMA, 9, 9),  # and six factors
    Hot("matmul:48x64x48:u8,s8,s32:l2=0", _WORDS, 8, 8),
    Hot("matmul:48x64x48:u8,s8,s16:l2=0", _WORDS, 8, 8),
    Hot("matmul:48x64x48:u8,s8,s16:saturating=true:l2=0", _BYTES, 12, 10),
    Hot("matmul:1x512x1024:f32", _FMA, 16, 2),
    Hot(f"matmul:1x512x1024:{_BF16}", _FROM_ZERO, 32, 4),
    Hot(f"matmul:1x512x1024:{_BF16}:rhs=[0,2,1]:l2=0", _FMA, 16, 4),
    Hot(f"matmul:1x512x1024:{_BF16}:rhs=any:l2=0", _FMA, 8, 8),
)
"""Most that are not f32 do without L2, of which most tables are."""


def sums_of(loop: Loop) -> set[str]:
    """The registers that products, or sums of integers, are added to.

    ``vaddps`` adds integers, too: as bits of denormal numbers.
    """
    pattern = rf"(?:{_FMA}|vpadd[dw]|vaddps)\s.*(%ymm\d+)$"
    return {m[1] for line in loop.lines if (m := re.match(pattern, line))}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("hot", LOOPS, ids=lambda hot: hot.text)
def test_products_are_on_registers_without_spills(hot: Hot) -> None:
    def products(loop: Loop) -> list[str]:
        return [line for line in loop.lines if re.match(hot.product, line)]

    loops = innermost(kernel(hot.text).asm)
    hottest = max(loops, key=lambda loop: len(products(loop)))
    assert len(products(hottest)) >= hot.count
    assert all(re.search(r"%ymm\d+, %ymm\d+$", line) for line in products(hottest))
    assert len(sums_of(hottest)) >= hot.sums
    for loop in loops:
        assert not (products(loop) and loop.spills), (hot.text, loop.spills)

"""The programs of a range of sizes as text."""

import pytest

from morello.explain.cover import cover_text
from morello.explain.words import Clock
from morello.machine import AVX2
from morello.search.ranges.cover import cover
from morello.spec import parse_spec

SEARCHED = "another is compared with the best of"
UNKNOWN = "sizes above those that were searched have no prices"


@pytest.mark.parametrize(
    ("sizes", "words"),
    [("1..12", ()), ("1..100", (SEARCHED,)), ("1..16+", (UNKNOWN,))],
)
def test_sizes_that_were_not_searched_are_told(
    sizes: str, words: tuple[str, ...]
) -> None:
    covered = cover(parse_spec(f"sum:{sizes}x24:f32", AVX2.limits), AVX2)
    text = cover_text(covered, AVX2, Clock(3.0))
    assert {word for word in (SEARCHED, UNKNOWN) if word in text} == {*words}
    if SEARCHED in words:
        assert f"searched: {len(covered.sizes.costs)} of 100 sizes" in text
        assert len(covered.sizes.costs) < 100
    for part in covered.parts:
        first, last = part.box.first[0], part.box.last[0]
        assert f"{first}..{last} " in text or f" {last} " in text

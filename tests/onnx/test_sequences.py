"""Sequences of tensors become their tensors, as ONNX's reference says."""

import pytest

from tests.onnx.models import check_by_reference, drawn, parsed
from tests.tables import rows

pytestmark = pytest.mark.quick

CONSTANTS = {
    "first": "int64 first = {0}",
    "last": "int64 last = {-1}",
    "two": "int64 two = {2}",
    "sizes": "int64[3] sizes = {1, 3, 1}",
    "w": "float[3,3] w = {0, 0, 1, 0, 1, 0, 1, 0, 0}",
}
SHAPES = {"joined": "5,6", "stacked": "5,2,3", "their number": "5,3", "rows": "3"}
SHAPES |= {"pieces of two, the last": "6,3"}


@pytest.mark.parametrize(("name", "text"), rows(__file__, "sequences"))
def test_what_reads_a_sequence_reads_its_tensors(name: str, text: str) -> None:
    used = set(text.replace(",", " ").replace("(", " ").replace(")", " ").split())
    held = ", ".join(held for key, held in CONSTANTS.items() if key in used)
    inputs = [key for key in "xz" if key in used]
    arguments = ", ".join(f"float[5,3] {key}" for key in inputs)
    result = f"float[{SHAPES.get(name, '10,3')}] y"
    proto = parsed(f"({arguments}) => ({result}) <{held}> {{ {text} }}")
    check_by_reference(proto, *(drawn((5, 3)) * n for n, _ in enumerate(inputs, 1)))

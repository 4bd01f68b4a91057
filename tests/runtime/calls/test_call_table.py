"""The table of a call in numbers, by the definition of each."""

import ml_dtypes
import numpy as np
import pytest

from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.parameter import Parameter
from morello.runtime.element_types import buffer_format, dlpack_word, typestr_word

pytestmark = pytest.mark.quick

F32 = np.dtype(np.float32)
IN = Parameter("a", F32, (2, 3))
ANY = Parameter("b", F32, (2, 3), strides=(4, 1), any_row=4)
OUT = Parameter("c", F32, (2, 3), is_output=True)


@pytest.mark.parametrize("nbytes", [1, 63, 64, 65, 4096, (2 << 20) - 1, (2 << 20) + 1])
def test_a_workspace_is_whole_lines_or_whole_pages(nbytes: int) -> None:
    head = CallTable(1, (IN, OUT), nbytes, 1).head
    assert head.workspace_alignment == (2 << 20 if nbytes > 2 << 20 else 64)
    assert head.workspace_bytes % head.workspace_alignment == 0
    assert nbytes <= head.workspace_bytes < nbytes + head.workspace_alignment


@pytest.mark.parametrize("nbytes", [0, 8])
def test_arguments_are_arrays_then_the_workspace_then_distances(nbytes: int) -> None:
    table = CallTable(1, (IN, ANY, OUT), nbytes, 1)
    between = [0] if nbytes else []
    assert table.head.arrays == 3
    assert table.head.rows == 3 + len(between)
    assert table.head.arguments == 4 + len(between)
    assert table.arguments([5, 6, 7, 4]) == [5, 6, 7, *between, 4]
    assert table.head.threads == 1


def test_dtypes_have_letters_where_they_are_the_machines_own() -> None:
    for letter in "?bBhHiIfd":
        dtype = np.dtype(letter)
        assert buffer_format(dtype) == ord(dtype.char), letter
        text = typestr_word(dtype).to_bytes(4, "little")
        assert text == dtype.str.encode() + b"\0", letter
    for other in (">f4", "V4", "U1", "i4,i4", ml_dtypes.bfloat16):
        assert buffer_format(np.dtype(other)) == -1, other
        assert typestr_word(np.dtype(other)) == -1, other
    assert dlpack_word(F32) == 2 | 32 << 8 | 1 << 16
    assert dlpack_word(np.dtype("i2")) == 16 << 8 | 1 << 16
    assert dlpack_word(np.dtype("u1")) == 1 | 8 << 8 | 1 << 16
    assert dlpack_word(np.dtype(ml_dtypes.bfloat16)) == 4 | 16 << 8 | 1 << 16
    assert dlpack_word(np.dtype("U1")) == -1

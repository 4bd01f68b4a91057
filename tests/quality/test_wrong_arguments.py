"""E7: every argument of every kind of Spec, wrong in every way, is refused by name."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError
from morello.machine import AVX2
from morello.spec import Spec, parse_spec
from morello.spec.kinds import instances
from tests.quality.compiled import unsearched
from tests.quality.specs import small_spec

pytestmark = pytest.mark.quick

SPECS = (
    *map(small_spec, instances()),
    *(
        parse_spec(text, AVX2.limits)
        for text in (
            "matmul:2x5x3x7:s32",
            "matmul_accum:3x5x3x7:s32",
            "matmul:6x3x32:f32:rhs=[0,2,1,2p16]",
            "max_accum:5x9:s32",
            "move:6x7:f32:dst=[1,0]",
            "move:6x7:u8",
            "move:3x4x5:bf16",
            "fill:7x3:s16",
        )
    ),
)
"""Of every kind, and of other dtypes, layouts and batches."""

Wrong = Callable[[np.ndarray[Any, Any]], Any]

WRONG: dict[str, Wrong] = {
    "none": lambda a: None,
    "a number": lambda a: 3,
    "a list": lambda a: a.tolist(),
    "bytes": lambda a: a.tobytes(),
    "a string": lambda a: "array",
    "a memoryview": lambda a: memoryview(a.tobytes()),
    "a class": lambda a: np.ndarray,
    "f64": lambda a: np.zeros(a.shape, np.float64),
    "f16": lambda a: np.zeros(a.shape, np.float16),
    "s64": lambda a: np.zeros(a.shape, np.int64),
    "bool": lambda a: np.zeros(a.shape, np.bool_),
    "complex": lambda a: np.zeros(a.shape, np.complex64),
    "objects": lambda a: np.zeros(a.shape, object),
    "a structure": lambda a: np.zeros(a.shape, [("x", a.dtype)]),
    "text": lambda a: np.zeros(a.shape, "U1"),
    "one more row": lambda a: np.zeros((a.shape[0] + 1, *a.shape[1:]), a.dtype),
    "one element less": lambda a: np.zeros((*a.shape[:-1], a.shape[-1] - 1), a.dtype),
    "two axes more": lambda a: a[None, None],
    "one axis": lambda a: np.zeros(a.size + 1, a.dtype),
    "no axis": lambda a: np.asarray(a.reshape(-1)[0]),
    "empty": lambda a: a[:0],
    "backwards": lambda a: a[..., ::-1],
    "every second": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "padded rows": lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, 1)])[..., :-1],
    "one row for all": lambda a: np.broadcast_to(a.reshape(-1)[:1], a.shape),
}

WIDE: dict[str, Wrong] = {
    "misaligned": lambda a: _misaligned(a),
    "foreign bytes": lambda a: a.astype(a.dtype.newbyteorder()),
}
"""Of elements of more than a byte."""


def _misaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    return np.ndarray(array.shape, array.dtype, memory, 1)


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def right(kernel: Kernel) -> list[np.ndarray[Any, Any]]:
    """Arguments that fit, of shapes that are never transposes of each other."""
    return [np.zeros(p.shape, p.dtype) for p in kernel.parameters]


def cases(kernel: Kernel) -> Iterator[tuple[str, int, list[Any]]]:
    """What is wrong, the argument that is, and all arguments."""
    for index, parameter in enumerate(kernel.parameters):
        wrong = dict(WRONG)
        if len(parameter.shape) == 1:
            del wrong["padded rows"]
        if parameter.dtype.itemsize > 1:
            wrong |= WIDE
            if parameter.dtype.kind == "V" or parameter.dtype.name == "bfloat16":
                # A dtype of its own kind has no other byte order.
                del wrong["foreign bytes"]
        if parameter.is_output:
            wrong["read-only"] = _read_only
        for name, make in wrong.items():
            arrays: list[Any] = right(kernel)
            arrays[index] = make(arrays[index])
            yield name, index, arrays
    yield from overlapping(kernel)


def overlapping(kernel: Kernel) -> Iterator[tuple[str, int, list[Any]]]:
    """The output on the same bytes as an input, wholly and by one element."""
    last = len(kernel.parameters) - 1
    for index, parameter in enumerate(kernel.parameters[:-1]):
        out = kernel.parameters[last]
        for shift in (0, parameter.nbytes - parameter.dtype.itemsize):
            memory = np.zeros(shift + out.nbytes + parameter.nbytes, np.uint8)
            arrays: list[Any] = right(kernel)
            array = memory[: parameter.nbytes].view(parameter.dtype)
            taken = memory[shift : shift + out.nbytes].view(out.dtype)
            arrays[index] = array.reshape(parameter.shape)
            arrays[last] = taken.reshape(out.shape)
            yield f"overlap at {shift}", last, arrays


def apart(spec: Spec, arrays: list[Any]) -> tuple[list[Any], Any]:
    """The inputs, and what ``out`` is given: a tuple where there are several."""
    count = len(spec.kind.written)
    outs = arrays[-count:]
    return arrays[:-count], tuple(outs) if count > 1 else outs[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_wrong_argument_is_refused_by_name(spec: Spec) -> None:
    kernel = unsearched(spec)
    for name, index, arrays in cases(kernel):
        with pytest.raises(ArgumentError) as caught:
            kernel(*arrays)
        assert f"'{kernel.parameters[index].name}'" in str(caught.value), name
        assert caught.value.remedy, name
        if arrays[-1] is None:
            continue  # as out= it asks for a new array
        inputs, out = apart(spec, arrays)
        with pytest.raises(ArgumentError) as by_name:
            kernel(*inputs, out=out)
        assert str(by_name.value) == str(caught.value)
    # Nothing was harmed.
    kernel(*right(kernel))


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_wrong_numbers_and_names_of_arguments_are_refused(spec: Spec) -> None:
    kernel = unsearched(spec)
    arrays = right(kernel)
    name = kernel.parameters[0].name
    wrong: list[tuple[list[Any], dict[str, Any]]] = [
        ([*arrays, arrays[0]], {}),
        (arrays, {"colour": 1}),
        (arrays, {name: arrays[0]}),
        (arrays[:-1], {"out": (arrays[-1], arrays[-1])}),
    ]
    for arguments, named in wrong:
        with pytest.raises(ArgumentError):
            kernel(*arguments, **named)
    if len(arrays) > 1:
        with pytest.raises(ArgumentError, match="is missing"):
            kernel(out=apart(spec, arrays)[1])


def test_there_are_enough_cases() -> None:
    assert sum(1 for spec in SPECS for _ in cases(unsearched(spec))) >= 500

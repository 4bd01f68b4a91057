"""Sequences of tensors become their tensors, as ONNX's reference says."""

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import Shape, check_by_reference, drawn, model, node

pytestmark = pytest.mark.quick

GIVEN = {"x": (5, 3), "z": (5, 3)}
PAIR = node("SequenceConstruct", ["x", "z"], ["s"])

CASES: dict[str, tuple[list[Any], Shape]] = {
    "joined": ([PAIR, node("ConcatFromSequence", ["s"], ["y"], axis=-1)], (5, 6)),
    "stacked": (
        [PAIR, node("ConcatFromSequence", ["s"], ["y"], axis=1, new_axis=1)],
        (5, 2, 3),
    ),
    "inserted": (
        [
            node("SequenceEmpty", [], ["e"]),
            node("SequenceInsert", ["e", "x"], ["one"]),
            node("SequenceInsert", ["one", "z", "first"], ["s"]),
            node("ConcatFromSequence", ["s"], ["y"], axis=0),
        ],
        (10, 3),
    ),
    "uneven pieces": (
        [
            node("SplitToSequence", ["x", "sizes"], ["s"], axis=0),
            node("SequenceInsert", ["s", "z", "first"], ["t"]),
            node("ConcatFromSequence", ["t"], ["y"], axis=0),
        ],
        (10, 3),
    ),
    "pieces of two, the last": (
        [
            node("SplitToSequence", ["x", "two"], ["s"], axis=0),
            node("SequenceAt", ["s", "two"], ["t"]),
            node("MatMul", ["t", "w"], ["u"]),
            node("SequenceConstruct", ["u", "z"], ["v"]),
            node("ConcatFromSequence", ["v"], ["y"], axis=0),
        ],
        (6, 3),
    ),
    "their number": (
        [
            PAIR,
            node("SequenceLength", ["s"], ["n"]),
            node("Cast", ["n"], ["f"], to=1),
            node("Mul", ["x", "f"], ["y"]),
        ],
        (5, 3),
    ),
    "rows": (
        [
            node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0),
            node("SequenceAt", ["s", "last"], ["t"]),
            node("MatMul", ["t", "z"], ["y"]),
        ],
        (3,),
    ),
}

CONSTANTS = {
    "first": np.array(0, np.int64),
    "last": np.array(-1, np.int64),
    "two": np.array(2, np.int64),
    "sizes": np.array([1, 3, 1], np.int64),
    "w": np.eye(3, dtype=np.float32)[::-1].copy(),
}


@pytest.mark.parametrize("name", CASES)
def test_what_reads_a_sequence_reads_its_tensors(name: str) -> None:
    nodes, shape = CASES[name]
    read = {each for one in nodes for each in one.input}
    held = {key: value for key, value in CONSTANTS.items() if key in read}
    inputs = {key: value for key, value in GIVEN.items() if key in read}
    proto = model(nodes, inputs, {"y": shape}, held)
    check_by_reference(
        proto, *(drawn(GIVEN[key]) * n for n, key in enumerate(inputs, 1))
    )

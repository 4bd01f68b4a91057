"""Actions as JSON values: what is read is what was written; nothing else is read."""

import dataclasses
import json
from typing import ClassVar

import pytest

from morello.actions import ACTIONS, Range, Select, Tile
from morello.machine import AVX2
from morello.search import Solver
from morello.search.storage.serialize import action_data, read_action
from morello.spec import parse_spec


@dataclasses.dataclass(frozen=True, order=True)
class Fold(Select):
    """An action that no program has."""

    name: ClassVar[str] = "fold"


@pytest.mark.sampled(5)
def test_every_candidate_comes_back() -> None:
    solver = Solver(dataclasses.replace(AVX2, threads=4))
    candidates = set()
    for text in "4x512x8:bf16,bf16,f32:serial=false:l1=64:l2=0", "1x4x8:u8,s8,s32":
        goal = parse_spec(f"matmul:{text}", AVX2.limits)
        solver.solve(goal)
        run = solver.run_of(goal)
        candidates |= {a for identity in run.store for a in run.candidates(identity)}
    for text in (
        "compose:4x8:f32:l2=0:graph=m[r]=max(x[r,n]);p[r,n]=exp(x-m);l[r]=sum(p);y[r,n]=p/l",
        "conv:1x2x4x4x2x2x2:f32:pad=1:l2=0",
        "conv:1x2x4x4x2x2x2:f32:pad=1:layout=nhwc",
        "conv:1x3x4x4x3x1x1:f32:l2=0",
        "compose:5x3:f32:l2=0:graph=y[u]=sum(x[pad(u+i,1,1)]*w[i])",
    ):
        goal = parse_spec(text, AVX2.limits)
        solver.solve(goal)
        run = solver.run_of(goal)
        candidates |= {a for identity in run.store for a in run.candidates(identity)}
    # `Range` puts programs of several sizes together: it is no candidate of a table.
    assert {type(action) for action in candidates} == {*ACTIONS} - {Range}
    for action in candidates:
        assert read_action(json.loads(json.dumps(action_data(action)))) == action


def test_true_is_no_size() -> None:
    assert read_action(("tile", ["m", 1])) == Tile("m", 1)
    with pytest.raises(TypeError, match="True is not of type int"):
        read_action(("tile", ["m", True]))


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (("fold", ["dot"]), ValueError, "there is no action 'fold'"),
        (("tile", ["m"]), ValueError, "shorter"),
        (("tile", ["m", "4"]), TypeError, "'4' is not of type int"),
        (("tile", ["m", [4]]), TypeError, "unhashable"),
        (("move", ["lhs", "L9", "[0,1]", ""]), ValueError, "unknown memory level 'L9'"),
        (("move", ["lhs", 1, "[0,1]", ""]), TypeError, "1 is not text"),
        (("tile", ["m", 4], []), ValueError, "too many values"),
        (None, TypeError, "NoneType"),
    ],
)
def test_other_data_are_refused(
    data: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        read_action(data)  # type: ignore[arg-type]


def test_an_action_may_be_allowed_for_once() -> None:
    assert read_action(("fold", ["dot"]), (Fold,)) == Fold("dot")

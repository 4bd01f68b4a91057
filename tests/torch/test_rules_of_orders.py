"""Rules of integers, truth values, orders, windows that differ in size, and moves of
elements, run in PyTorch itself."""

import math
from typing import Any

import pytest
import torch
from torch.nn import functional

from morello.torch.lowering import lowered
from morello.torch.ops import COMPARED
from tests.torch.test_rules import (
    BYTES,
    IMAGE,
    PAIRS,
    X,
    flat,
    follows,
    numbers,
    same,
    traced,
)

pytestmark = pytest.mark.quick

CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "greatest in uneven windows": (
        lambda x: (
            functional.adaptive_max_pool2d(x, (2, 3)),
            functional.adaptive_max_pool1d(x[0], 4),
            functional.adaptive_max_pool3d(x, (2, 3, 3)),
            functional.adaptive_avg_pool3d(x, (2, 3, 3)),
            functional.max_pool3d(x, (2, 3, 2), (1, 2, 1), (1, 0, 1)),
            functional.max_pool3d(x, 2, 1, 0, (1, 2, 3)),
        ),
        (IMAGE.where(IMAGE < 1, math.nan),),
    ),
    "running extremes": (
        lambda x, i: (*x.cummax(1), *x.cummin(0), *i.cummax(1), *(i > 0).cummin(0)),
        (PAIRS.reshape(11, 22), BYTES.int() % 9),
    ),
    "places in an order": (
        lambda x, y: (
            x.median(),
            x.median(1).values,
            x.median(0, keepdim=True).values,
            y.median(1).values,
            y.int().median(),
            y[0, 0, 0].median(),
            y.kthvalue(3, 1).values,
        ),
        (PAIRS.reshape(11, 22), X),
    ),
    "functions of integers": (
        lambda i, y: (
            *(i / 3, i.sqrt(), i.exp(), i / y[0], 2.0**i, i.clamp(-1.5, 2.5)),
            *(i**0, i**1, i**5, i**-0.5, i.sign(), i.clamp(min=y[0].int())),
            *(i.clamp(y[0].int(), y[1].int()), i << 3, i >> 2, i.sum(1).bool()),
            *(i.any(1), i.all(), y.any(2), (y > 0).all((0, 1)), i.half() / i),
            *((i > 0).sqrt(), i.mean(dtype=torch.float32), i.log1p()),
        ),
        (BYTES[:4].int() // 5, X),
    ),
    "distances": (
        lambda x, y: (torch.cdist(x, y), torch.cdist(x, y, 1.0)),
        (X, X[:, :2] + 1),
    ),
    "diagonals": (
        lambda x: (
            *(torch.diag_embed(x), torch.diag_embed(x, 2, 0, -1)),
            *(torch.diag(x[0, 0], -1), torch.block_diag(x[0], x[1, 0], x[1])),
        ),
        (X,),
    ),
    "resized without aliasing": (
        lambda x: [
            functional.interpolate(x, antialias=True, **options)
            for options in (
                {"size": (3, 2), "mode": "bilinear"},
                {"size": (3, 7), "mode": "bicubic"},
                {"size": (2, 7), "mode": "bilinear", "align_corners": True},
                {"scale_factor": (0.6, 0.7), "mode": "bicubic"},
            )
        ],
        (IMAGE,),
    ),
    "means of updates": (
        lambda x, i: (
            x.scatter_reduce(1, i, x + 1, "mean"),
            x.scatter_reduce(1, i, x + 1, "mean", include_self=False),
        ),
        (X[0], torch.tensor([[0, 3, 3], [1, 2, 0]])),
    ),
    "rounded to places": (
        lambda x: (x.round(decimals=1), (x * 99).round(decimals=-1)),
        (X,),
    ),
    "three factors": (functional.bilinear, (X[0], X[1], numbers(2, 5, 5))),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_a_rule_gives_what_eager_gives(name: str) -> None:
    follows(*CASES[name])


TRUE = torch.tensor([[True, False], [True, True]])

OF_ONE_NUMBER: dict[str, Any] = {
    "true beside 0": lambda x: torch.full_like(x > 0, True) > 0,
    "true beside a fraction": lambda x: torch.ones_like(x > 0) > 0.5,
    "zeros beside an integer": lambda x: torch.zeros_like(x) - (-1),
    "a comparison": lambda x: torch.zeros_like(x) > 0,
    "quotients": lambda x: torch.full_like(x, -5, dtype=torch.int64) // 2,
    "integers beside a fraction": lambda x: torch.full_like(x, -5).int() + 1.5,
    "a number by itself": lambda x: (
        torch.zeros_like(x).where(torch.ones_like(x) > 0, torch.scalar_tensor(-1.0)) > 0
    ),
    "a view": lambda x: torch.ones_like(x)[:1].T.expand(5, 3) * -2,
}


@pytest.mark.parametrize("name", OF_ONE_NUMBER)
def test_tensors_of_one_number_are_computed_by_torch(name: str) -> None:
    """torch-mlir's own folding is wrong of these, or ends the process."""
    function, inputs = OF_ONE_NUMBER[name], (X[0],)
    graph = lowered(traced(function, *inputs), inputs)
    calls = [n for n in graph.graph.nodes if n.op == "call_function"]
    assert [str(call.target) for call in calls] == ["aten.full.default"]
    same(flat(graph(*inputs))[0], function(*inputs))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", [-3, -1, 0, 1, 2, 0.5, True])
def test_truth_values_are_compared_as_numbers(number: Any) -> None:
    for op in sorted(COMPARED, key=str):
        follows(lambda x, op=op: op(x, number), (TRUE,))
        graph = lowered(traced(lambda x, op=op: op(x, number), TRUE), (TRUE,))
        of = [n.args[0].meta["val"] for n in graph.graph.nodes if n.target is op]
        assert [value.dtype for value in of] != [torch.bool]


def test_squares_of_truth_values_are_integers() -> None:
    follows(lambda x: (x.square(), x**3, x**0, x**1), (TRUE,))


def test_rows_of_truth_values_are_added_as_numbers() -> None:
    def added(x: Any) -> Any:
        return x.index_add(0, torch.tensor([0, 0]), x)

    follows(added, (TRUE,))
    graph = lowered(traced(added, TRUE), (TRUE,))
    assert torch.bool not in [
        node.args[0].meta["val"].dtype
        for node in graph.graph.nodes
        if "add" in str(node.target)
    ]


def test_elements_roll_by_less_than_an_axis() -> None:
    """The importer cuts an axis where the shift says, even past its end."""

    def rolled(x: Any) -> Any:
        return x.roll((-7, 9, -2), (0, 1, 2))

    follows(rolled, (X,))
    graph = lowered(traced(rolled, X), (X,))
    (roll,) = (n for n in graph.graph.nodes if n.op == "call_function")
    assert roll.args[1:] == ([2, 1, -2], [0, 1, 2])

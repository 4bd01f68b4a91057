"""Complex numbers of a graph as pairs of floats: `as_pairs`."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

from morello.torch.larger_ops.complex_pairs import as_pairs
from tests.torch.test_rules import flat, numbers, same

pytestmark = pytest.mark.quick

A, B = (torch.view_as_complex(numbers(3, 4, 5, 2, seed=seed)) for seed in (0, 1))
W = torch.view_as_complex(numbers(5, 2, seed=2))
R, PLACES = numbers(5, seed=3), torch.tensor([2, 0])

real = torch.view_as_real

CASES: dict[str, Any] = {
    "parts": lambda a, b, w, r, i: (
        torch.real(a * b.conj()),
        (a + b - w).imag,
        a.abs(),
        real(torch.polar(r, r) * torch.complex(r, r * 2)),
        real(torch.view_as_complex(torch.stack([r, r], -1)) * w),
    ),
    "products": lambda a, b, w, r, i: tuple(
        map(real, (a * w, a * r, r * a, a * 2.5, -a, a / r, a / 3, r * w * w))
    ),
    "views": lambda a, b, w, r, i: tuple(
        map(
            real,
            (
                a.transpose(0, 1) * w,
                (a * w).permute(2, 0, 1),
                (a.mT * 1.5).reshape(3, -1),
                (-a)[:, 1:3].unsqueeze(-1),
                (a * a)[1].t(),
                (w * w).expand(3, 4, 5) * a,
                (a * a).unsqueeze(0).squeeze(0),
                torch.flatten((a * a)[:, :, None], 1),
            ),
        )
    ),
    "places": lambda a, b, w, r, i: tuple(
        map(
            real,
            (
                (a * a)[i],
                (a * a)[:, i],
                (a * a).index_select(-1, i),
                torch.cat([a * a, b], -1),
                torch.stack([a * a, b], -1),
                (a * a).clone(),
            ),
        )
    ),
}

UNKNOWN: dict[str, Any] = {
    "a product of matrices": lambda a, b, w, r, i: real((a @ b.mT) * 2),
    "a complex number of Python": lambda a, b, w, r, i: real(a * (1 + 2j)),
    "a result": lambda a, b, w, r, i: (a * w, real(a * w)),
}


def rewritten(function: Any, *inputs: Any) -> tuple[Any, list[str]]:
    """A graph with pairs, and the ops that compute complex numbers in it."""
    graph = make_fx(function, tracing_mode="fake")(*inputs)
    as_pairs(graph)
    nodes = [n for n in graph.graph.nodes if n.op == "call_function"]
    return graph, [n.name for n in nodes if n.meta["val"].is_complex()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*CASES, *UNKNOWN])
def test_floats_are_what_eager_gives(name: str) -> None:
    function = {**CASES, **UNKNOWN}[name]
    inputs = A, B, W, R, PLACES
    graph, left = rewritten(function, *inputs)
    assert bool(left) is (name in UNKNOWN)
    results = flat(graph(*inputs))
    for one, other in zip(results, flat(function(*inputs)), strict=True):
        assert one.stride() == other.stride()
        pairs = (real(x) if x.is_complex() else x for x in (one, other))
        same(*pairs, rtol=2e-6, atol=1e-6)


def test_numbers_of_f64_stay() -> None:
    _, left = rewritten(lambda x: real(x * x), A.to(torch.complex128))
    assert left == ["mul"]


def test_a_rotation_and_its_product_are_one_group(evaluated: list[Any]) -> None:
    angles = torch.polar(torch.ones(6, 4), numbers(6, 4))

    def rotated(x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(2, 6, 2, 4, 2))
        return torch.view_as_real(pairs * angles.view(1, 6, 1, 4)).flatten(3)

    def function(x: Any, w: Any) -> Any:
        q = rotated((x @ w).reshape(2, 6, 2, 8))
        return q.transpose(1, 2) @ rotated(x).permute(0, 2, 3, 1)

    compiled = torch.compile(function, backend="morello", options={"wait": True})
    x, w = numbers(2, 6, 16), numbers(16, 16, seed=1)
    same(compiled(x, w), function(x, w), rtol=2e-6, atol=1e-5)
    assert len(evaluated) == 1


class Rotation(nn.Module):
    """A rotation by a complex buffer, of two tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("angles", torch.polar(torch.ones(6, 4), numbers(6, 4)))

    def forward(self, x: Any, y: Any) -> Any:
        pairs = (torch.view_as_complex(t.unflatten(-1, (4, 2))) for t in (x, y))
        angles = self.angles[None, :, None]
        return tuple(real(each * angles).flatten(3) for each in pairs)


def test_the_parts_of_a_buffer_are_prepared(evaluated: list[Any]) -> None:
    """Each product is one part, which reads whole rows; a NaN stays in its pair."""
    model = Rotation()
    x, y = numbers(1, 6, 2, 8), numbers(1, 6, 3, 8, seed=1)
    x[0, 1, 0, 3], x[0, 2, 1, 4] = torch.nan, torch.inf
    fast = torch.compile(model, backend="morello", options={"wait": True})
    for one, other in zip(fast(x, y), model(x, y), strict=True):
        same(one, other, rtol=2e-6, atol=1e-6)
    (prepared,) = evaluated
    assert len(prepared.specs()) == 2

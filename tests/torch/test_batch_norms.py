"""Batch norms after convolutions, and of concatenations, by definition; no search."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from morello.torch.group import Group

pytestmark = pytest.mark.quick


class Halved(nn.Module):
    """A stem that is pooled, and a block whose two branches end in batch norms."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.long, self.short = (nn.Conv2d(4, 4, n, 2, n // 2) for n in (3, 1))
        self.norms = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(3))
        for norm in self.norms:
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.weight, -1, 1)

    def forward(self, x: Any) -> Any:
        x = functional.max_pool2d(self.norms[0](self.stem(x)).relu(), 3, 2, 1)
        return (self.norms[1](self.long(x)) + self.norms[2](self.short(x))).relu()


def test_a_batch_norm_is_a_shift(evaluated: list[Any]) -> None:
    """Filters are multiplied with its scale, and those of products of matrices where
    copies of weights are allowed."""
    module, x = Halved().eval(), torch.randn(1, 3, 8, 8)
    fast = torch.compile(module, backend="morello", options={"wait": True})
    assert torch.allclose(fast(x), module(x), atol=1e-5)
    for norm in module.norms:
        norm.weight.mul_(-2)
    assert torch.allclose(fast(x), module(x), atol=1e-5)
    specs = evaluated[0].specs()
    assert len([spec for spec in specs if "+x" in spec]) == 3
    assert not [spec for spec in specs if "-x" in spec or "relu(x0*" in spec]


@pytest.mark.parametrize("freeze", [False, True], ids=["read in calls", "frozen"])
def test_weights_are_copied_only_where_they_may(
    freeze: bool, evaluated: list[Any]
) -> None:
    module = nn.Sequential(nn.Conv2d(4, 8, 1), nn.BatchNorm2d(8), nn.ReLU()).eval()
    nn.init.uniform_(module[1].weight, -1, 1)
    options = {"wait": True, "freeze": freeze}
    fast = torch.compile(module, backend="morello", options=options)
    x = torch.randn(1, 4, 3, 3)
    assert torch.allclose(fast(x), module(x), atol=1e-5)
    (model,) = evaluated
    (spec,) = model.specs()
    assert ("v0*x" in spec) != freeze


class Dense(nn.Module):
    """Convolutions of all that the ones before computed."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(4 + 2 * i) for i in range(3))
        self.layers = nn.ModuleList(
            nn.Conv2d(4 + 2 * i, 2, 1 + 2 * (i % 2), padding=i % 2) for i in range(3)
        )
        for norm in self.norms:
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.weight, -1, 1)

    def forward(self, x: Any) -> Any:
        pieces = [x]
        for norm, layer in zip(self.norms, self.layers, strict=True):
            pieces.append(layer(norm(torch.cat(pieces, 1)).relu()))
        return pieces[-1]


def test_a_concatenation_is_normalised_piece_by_piece(evaluated: list[Any]) -> None:
    module, x = Dense().eval(), torch.randn(2, 4, 5, 5)
    fast = torch.compile(module, backend="morello", options={"wait": True})
    assert torch.allclose(fast(x), module(x), atol=1e-5)
    specs = evaluated[0].specs()
    assert not [spec for spec in specs if "=copy(" in spec]
    assert len([spec for spec in specs if "relu" in spec]) == 1 + 2 + 3


def test_eager_runs_where_norms_have_other_strides_than_they_are_traced_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch._dynamo.reset()
    norm, linear = nn.BatchNorm1d(16).eval(), nn.Linear(16, 4)

    def function(x: Any) -> Any:
        return linear(norm(x.mT).mT)

    monkeypatch.setattr(Group, "_compile", lambda *arguments: None)
    fast = torch.compile(function, backend="morello", options={"wait": True})
    x = torch.randn(2, 3, 16)
    assert torch.equal(fast(x), function(x))

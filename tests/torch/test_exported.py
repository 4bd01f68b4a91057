"""Modules as kernels with their weights: equal to eager, without PyTorch."""

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from morello.errors import ArgumentError, MorelloError
from morello.torch import export
from tests.child import python

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

LOADS = """
import pickle, sys
kernel, arguments, expected = pickle.load(open(sys.argv[1], "rb"))
results = kernel(*arguments)
unneeded = {"torch", "torch_mlir", "morello.search", "morello.frontends.model"}
assert not unneeded & {*sys.modules}
for result, array in zip(results, expected, strict=True):
    assert (result == array).all()
"""


class Small(nn.Module):
    """Rows of a table through a product; every number is a small integer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rows = nn.Embedding(5, 4)
        self.inner = nn.Linear(4, 3)
        self.register_buffer("steps", torch.arange(3.0))
        for weight in self.parameters():
            weight.data = torch.randint(-3, 4, weight.shape).float()

    def forward(self, places: Any, x: Any) -> Any:
        hidden = self.rows(places) + x
        return torch.relu(self.inner(hidden)) * self.steps.square(), hidden.sum(-1)


ARGUMENTS = torch.tensor([[0, 4], [2, 2]]), torch.arange(16.0).reshape(2, 2, 4) - 7


@pytest.mark.sampled(2)
def test_a_process_without_pytorch_computes_what_eager_does(tmp_path: Path) -> None:
    model = Small().eval()
    kernel = export(model, ARGUMENTS, threads=1)
    expected = [result.detach().numpy() for result in model(*ARGUMENTS)]
    for result, array in zip(kernel(*ARGUMENTS), expected, strict=True):
        np.testing.assert_array_equal(result, array)
    table = model.rows.weight.detach().numpy()
    assert any(np.array_equal(w, table) for w in kernel.constants.values())
    path = tmp_path / "small.kernel"
    arrays = [argument.numpy() for argument in ARGUMENTS]
    path.write_bytes(pickle.dumps((kernel, arrays, expected)))
    python("-c", LOADS, str(path), check=True)
    kernel.save(tmp_path / "small.h", "small")
    header = (tmp_path / "small.h").read_text()
    assert all(name in header for name in kernel.constants)


class Inverted(Small):
    """A module with an op that no kernel has."""

    def forward(self, places: Any, x: Any) -> Any:
        return torch.linalg.inv(super().forward(places, x)[0][..., :2])


@pytest.mark.parametrize(
    ("model", "arguments", "options", "reason"),
    [
        (nn.BatchNorm1d(3), (torch.ones(2, 3),), {}, "changes 'running_mean'"),
        (Inverted().eval(), ARGUMENTS, {}, "linalg_inv"),
        (Small().eval(), ARGUMENTS, {"thread": 1}, "no option 'thread'"),
    ],
)
def test_what_no_kernel_does_is_refused(
    model: nn.Module, arguments: Any, options: Any, reason: str
) -> None:
    with pytest.raises(MorelloError, match=reason):
        export(model, arguments, **options)


def test_an_argument_that_is_no_tensor_is_refused() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any, scale: float) -> Any:
            return x * scale

    with pytest.raises(ArgumentError, match="Tensor, float"):
        export(Scaled(), (torch.ones(3), 2.0))


class Heads(nn.Module):
    """Heads of one of three slices, as `nn.MultiheadAttention` takes them."""

    def forward(self, x: Any) -> Any:
        return torch.relu(x.transpose(0, 1)[1].reshape(5, 2, 2).transpose(0, 1))


WHOLE: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "layers of an LSTM": (nn.LSTM(3, 4, 2), (3, 1, 3)),
    "a GRU in both directions": (nn.GRU(3, 4, bidirectional=True), (3, 1, 3)),
    "heads of a slice": (Heads(), (5, 3, 4)),
    "an image": (nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 4)),
    "a volume": (nn.Upsample(size=3, mode="trilinear"), (1, 1, 2, 2, 4)),
}
"""Ops that an exported program has whole, and the shapes of their arguments."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WHOLE)
def test_ops_of_exported_programs_are_taken_apart(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the definition of the parts, without a search."""
    owner = sys.modules[export.__module__]
    monkeypatch.setattr(owner, "compiled_model", lambda model, *_: model)
    module, shape = WHOLE[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    result = export(module, (x,)).evaluate(x.numpy())
    wanted = torch.utils._pytree.tree_leaves(module(x))
    for one, other in zip(
        result if isinstance(result, tuple) else (result,), wanted, strict=True
    ):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6)

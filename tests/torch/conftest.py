"""Groups of the backend by their definition."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from morello.frontends.model import trusted_model
from morello.torch import group
from morello.torch.group import Group
from morello.torch.lowering import linalg_bytecode
from morello.torch.native_call import array_of


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    """Compute without gradients, as a model that is served."""
    with torch.no_grad():
        yield


def tensor_of(array: Any) -> Any:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The groups that calls have run: by their definition, without a search."""
    torch._dynamo.reset()
    defined: list[Any] = []

    def define(self: Group, simple: Any, name: Any) -> None:
        del name  # nothing is kept
        model = trusted_model(
            linalg_bytecode(simple), weights=self._weights, copies=self._options.packs
        )

        def run(*tensors: Any) -> Any:
            arrays = [array_of(t.detach().contiguous()) for t in tensors]
            computed = model.evaluate(*arrays)
            defined.append(model)
            results = computed if isinstance(computed, tuple) else (computed,)
            tensors = [tensor_of(np.asarray(result)) for result in results]
            wanted, _ = group.results_of(self._graph)
            # The definition has no signs.
            return tuple(t.view(o.dtype) for t, o in zip(tensors, wanted, strict=True))

        self._run = run

    monkeypatch.setattr(group.Group, "_compile", define)
    return defined

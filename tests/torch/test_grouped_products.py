"""Products of groups of rows: one program that is called for each group."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.torch.test_ranged import WAIT

ROWS, TERMS, COLUMNS = 6, 8, 8

_SCHEMA = "grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor"


def _fallback(rows: Any, matrices: Any, offsets: Any) -> Any:
    result = rows.new_zeros(len(rows), matrices.shape[2])
    start = 0
    for matrix, end in zip(matrices, offsets.tolist(), strict=True):
        torch.mm(rows[start:end], matrix, out=result[start:end])
        start = end
    return result


@pytest.fixture
def fallback() -> Iterator[Any]:
    """The op that transformers has for what PyTorch's does not take, as it has it."""
    with torch.library._scoped_library("transformers", "FRAGMENT") as library:
        library.define(_SCHEMA)
        library.impl("grouped_mm_fallback", _fallback, "CPU")
        library.impl(
            "grouped_mm_fallback",
            lambda rows, matrices, _: rows.new_empty(len(rows), matrices.shape[2]),
            "Meta",
        )
        yield torch.ops.transformers.grouped_mm_fallback


def compare(product: Any, dtype: torch.dtype, caplog: pytest.LogCaptureFixture) -> None:
    """Compare a product with eager's, twice a graph, for offsets of every sort."""
    caplog.set_level(logging.INFO, logger="morello.torch")
    torch._dynamo.reset()

    def model(rows: Any, first: Any, second: Any, offsets: Any) -> Any:
        hidden = product(rows, first.mT, offsets).relu()
        return product(hidden, first.mT, offsets) + product(rows, second, offsets)

    fast = torch.compile(model, backend="morello", options=WAIT)
    rows = torch.randn(ROWS, TERMS).to(dtype)
    first = torch.randn(3, COLUMNS, TERMS).to(dtype)
    second = torch.randn(3, TERMS, COLUMNS).to(dtype)
    bound = {"rtol": 1e-4, "atol": 1e-4} if dtype is torch.float32 else {}
    for ends in (
        *([1, 3, 6], [6, 6, 6], [0, 0, 6], [0, 4, 4]),  # with groups of no rows
        *([0, 0, 0], [2, 3, 4]),  # with rows of no group
        *([4, 2, 6], [1, 2, 9], [-1, 3, 6]),  # which overlap, or are outside
    ):
        offsets = torch.tensor(ends, dtype=torch.int32)
        values = fast(rows, first, second, offsets)
        expected = model(rows, first, second, offsets)
        # PyTorch's own op leaves rows of no group as they are in memory.
        end = max(0, min(ROWS, ends[-1]))
        torch.testing.assert_close(values[:end], expected[:end], **bound)
    said = [record.message for record in caplog.records]
    of_products = [one for one in said if "aten.mm" in one]
    assert len(of_products) == 2, said  # matrices of two layouts
    assert not any("stays eager" in one or "no group takes" in one for one in said)


@pytest.mark.sampled(4)
def test_of_pytorch(caplog: pytest.LogCaptureFixture) -> None:
    def product(rows: Any, matrices: Any, offsets: Any) -> Any:
        return torch._grouped_mm(rows, matrices, offs=offsets)

    compare(product, torch.bfloat16, caplog)


@pytest.mark.sampled(4)
def test_of_transformers(fallback: Any, caplog: pytest.LogCaptureFixture) -> None:
    compare(fallback, torch.float32, caplog)


def test_others_stay_eager(caplog: pytest.LogCaptureFixture) -> None:
    """Groups of columns, and a result of another dtype."""
    caplog.set_level(logging.INFO, logger="morello.torch")
    torch._dynamo.reset()

    def model(rows: Any, columns: Any, offsets: Any) -> Any:
        return torch._grouped_mm(rows, columns, offs=offsets) + 1

    fast = torch.compile(model, backend="morello", options=WAIT)
    rows, columns = torch.randn(8, 8).bfloat16(), torch.randn(8, 8).bfloat16()
    offsets = torch.tensor([3, 8], dtype=torch.int32)
    torch.testing.assert_close(
        fast(rows.t(), columns, offsets), model(rows.t(), columns, offsets)
    )
    said = [record.message for record in caplog.records]
    assert any("no group takes: aten._grouped_mm" in one for one in said)

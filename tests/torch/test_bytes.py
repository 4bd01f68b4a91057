"""Bytes in groups: what is read of them has their sign, and sums of them are exact."""

from typing import Any

import pytest
import torch

import morello.torch  # noqa: F401

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

OPTIONS = {"wait": True, "threads": 1}

UNSIGNED = (torch.arange(40) * 6 + 20).to(torch.uint8).reshape(8, 5)
SIGNED = (torch.arange(40) * 6 - 120).to(torch.int8).reshape(8, 5)
FLOATS = UNSIGNED * -0.5


def moved(u: Any, s: Any, x: Any) -> Any:
    return torch.where(s > 0, u, s.int()), torch.cat([u, s.short()]), u + x, u > s


def computed(u: Any, s: Any, x: Any) -> Any:
    return u.sum(1) * x[:, 0], s - s.int(), torch.stack([u, x]), u.t().float() * 3


def quantised(u: Any, s: Any, x: Any) -> Any:
    """Products of bytes with scales as torchao writes them."""
    sums = torch._int_mm(u, s.t()) - 128 * s.sum(1, dtype=torch.int32)
    return sums.float() * x[0, 0], x @ s.t().float()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [moved, computed, quantised])
def test_bytes_are_what_eager_takes_them_for(
    function: Any, caplog: pytest.LogCaptureFixture
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="morello", options=OPTIONS)
    results = compiled(UNSIGNED, SIGNED, FLOATS)
    for result, eager in zip(results, function(UNSIGNED, SIGNED, FLOATS), strict=True):
        assert result.dtype == eager.dtype
        torch.testing.assert_close(result, eager, rtol=0, atol=0)
    assert "eager" not in caplog.text

"""Attention to a cache that grows: one program for every number of keys."""

import logging
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.torch.test_ranged import WAIT


class Layer(nn.Module):
    """Two queries read each head of keys, where ``groups`` is half of ``heads``."""

    def __init__(self, masked: bool) -> None:
        super().__init__()
        self.q = nn.Linear(8, 16, bias=False)
        self.masked = masked

    def forward(self, x: Any, keys: Any, values: Any, mask: Any) -> Any:
        q = self.q(x).view(1, 1, 4, 4).transpose(1, 2)
        return functional.scaled_dot_product_attention(
            q, keys, values, mask if self.masked else None, enable_gqa=True
        )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("masked", [False, True])
def test_one_program_for_every_number_of_keys(
    masked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="morello.torch")
    torch._dynamo.reset()
    model = Layer(masked).eval()
    options = {**WAIT, "batch": 4}
    fast = torch.compile(model, backend="morello", options=options)
    x = torch.randn(1, 1, 8)
    for count in (3, 2, 5, 4):  # of 5 eager's
        keys, values = (torch.randn(1, 2, count, 4) for _ in range(2))
        mask = torch.randn(1, 1, 1, count)
        for tensor, dim in ((keys, 2), (values, 2), (mask, 3)):
            torch._dynamo.mark_dynamic(tensor, dim)
        arguments = x, keys, values, mask
        torch.testing.assert_close(
            fast(*arguments), model(*arguments), rtol=1e-4, atol=1e-5
        )
    said = [record.message for record in caplog.records]
    assert sum("compiled a group" in one for one in said) == 2
    assert not any("stays eager" in one or "no group takes" in one for one in said)

"""Models that PT2E quantises: their products and convolutions are of integers, and
exact where scales are powers of two."""

import logging
from typing import Any

import pytest
import torch

import morello.torch  # noqa: F401

pytestmark = pytest.mark.usefixtures("one_database")

OPTIONS = {"wait": True, "threads": 1, "target": "avx2{relayouts=0}", "time_limit": 2}

ops = torch.ops.quantized_decomposed


def rounded(x: Any, scale: float, zero: int, dtype: Any = torch.uint8) -> Any:
    """Numbers that are quantised, and are numbers again."""
    limits = torch.iinfo(dtype)
    form = (scale, zero, limits.min, limits.max, dtype)
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *form), *form)


class Layer(torch.nn.Module):
    """A product or a convolution, with a bias and relu, of quantised numbers."""

    def __init__(self, weights: Any, zero: int, dtype: Any, **options: int) -> None:
        super().__init__()
        count = len(weights)
        self.form, self.options = (zero, dtype), options
        self.register_buffer("weights", weights)
        self.register_buffer("scales", 2.0 ** -(torch.arange(count) % 3 + 4.0))
        self.register_buffer("zeros", torch.zeros(count, dtype=torch.int64))
        self.register_buffer("bias", torch.arange(count) - 2.0)

    def forward(self, x: Any) -> Any:
        x = rounded(x, 0.25, *self.form)
        weights = ops.dequantize_per_channel(
            self.weights, self.scales, self.zeros, 0, -128, 127, torch.int8
        )
        functional = torch.nn.functional
        if weights.dim() == 2:
            y = functional.linear(x, weights, self.bias)
        else:
            y = functional.conv2d(x, weights, self.bias, **self.options)
        return rounded(torch.relu(y), 0.5, 3, self.form[1])


def integers(*shape: int) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-127, 128, shape, generator=generator)


def bytes_of(*shape: int) -> Any:
    return integers(*shape).to(torch.int8)


U8, S8 = torch.uint8, torch.int8

LAYERS = {
    "linear": (Layer(bytes_of(9, 24), 7, U8), (3, 24)),
    "linear of s8": (Layer(bytes_of(9, 24), -5, S8), (3, 24)),
    "image": (Layer(bytes_of(6, 8, 3, 3), 0, U8, padding=1), (1, 8, 5, 7)),
    "border": (Layer(bytes_of(6, 8, 3, 3), 200, U8, padding=1, stride=2), (1, 8, 6, 7)),
    "inside": (Layer(bytes_of(6, 8, 3, 3), 9, U8), (1, 8, 5, 7)),
    "long": (Layer(bytes_of(6, 40, 3, 3), 130, U8, padding=1), (1, 40, 4, 4)),
}
"""Zero points around images, and sums of which f32 has not every one."""


def compiled(layer: Layer) -> Any:
    torch._dynamo.reset()
    return torch.compile(layer.eval(), backend="morello", options=OPTIONS)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", LAYERS)
def test_products_are_of_integers(name: str, caplog: pytest.LogCaptureFixture) -> None:
    layer, shape = LAYERS[name]
    x = integers(*shape) * 0.25
    x.view(-1)[:3] = torch.tensor([1e9, -1e9, 0.125])
    with caplog.at_level(logging.INFO, "morello.torch"):
        torch.testing.assert_close(compiled(layer)(x), layer(x), rtol=0, atol=0)
    assert ":u8,s8," in caplog.text or ":s8,s8," in caplog.text
    assert "fallback" not in caplog.text


def test_zero_points_of_channels_may_change() -> None:
    layer = Layer(bytes_of(4, 8), 0, U8)
    x = integers(2, 8) * 0.25
    fast = compiled(layer)
    for zero in (0, 3, 0):
        layer.zeros.fill_(zero)
        torch.testing.assert_close(fast(x), layer(x), rtol=0, atol=0)

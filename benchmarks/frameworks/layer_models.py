"""Single layers of convolutional nets as models: bias and relu, and perhaps a residual.

A name is that of the net, then channels@size-filters, the window, and what differs from
the usual: `s2` a stride, `d3` a dilation, `depthwise`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from benchmarks.frameworks.whole_models import Made

Make = Callable[[], Made]


class Residual(nn.Module):
    """Product of rows and weights, with a bias, a residual and relu."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.product = nn.Linear(inputs, outputs)

    def forward(self, x: Any, residual: Any) -> Any:
        return torch.relu(self.product(x) + residual)


def _layer(layer: nn.Module, *shape: int) -> Made:
    return nn.Sequential(layer, nn.ReLU()), (torch.randn(shape),)


def _conv(
    net: str,
    channels: int,
    size: int,
    filters: int,
    window: int,
    stride: int = 1,
    groups: int = 1,
) -> tuple[str, Make]:
    """A convolution of a square image, which keeps its size but for the stride."""

    def make() -> Made:
        how = {"stride": stride, "padding": window // 2, "groups": groups}
        layer = nn.Conv2d(channels, filters, window, **how)
        return _layer(layer, 1, channels, size, size)

    name = f"{net}:{channels}@{size}-{filters}:{window}x{window}"
    name += f":s{stride}" * (stride > 1) + ":depthwise" * (groups > 1)
    return name, make


def _depthwise(
    net: str, channels: int, size: int, window: int, stride: int = 1
) -> tuple[str, Make]:
    return _conv(net, channels, size, channels, window, stride, channels)


def _conv1d(
    channels: int, size: int, filters: int, window: int, dilation: int = 1
) -> tuple[str, Make]:
    """A convolution of a vocoder."""

    def make() -> Made:
        pad = window // 2 * dilation
        layer = nn.Conv1d(channels, filters, window, 1, pad, dilation)
        return _layer(layer, 1, channels, size)

    name = f"vocoder:{channels}@{size}-{filters}:{window}"
    return name + f":d{dilation}" * (dilation > 1), make


def _stage(width: int, before: int, size: int) -> list[tuple[str, Make]]:
    """Layers of a stage of ResNet-50 whose first block halves the image."""
    conv = partial(_conv, "resnet50")
    wide, larger = 4 * width, 2 * size
    return [
        conv(before, larger, width, 1),
        conv(width, larger, width, 3, 2),
        conv(width, size, wide, 1),
        conv(before, larger, wide, 1, 2),
        conv(wide, size, width, 1),
        conv(width, size, width, 3),
    ]


LAYERS: dict[str, Make] = dict(
    [
        _conv("resnet50", 3, 224, 64, 7, 2),
        _conv("resnet50", 64, 56, 64, 1),
        _conv("resnet50", 64, 56, 64, 3),
        _conv("resnet50", 64, 56, 256, 1),
        _conv("resnet50", 256, 56, 64, 1),
        *_stage(128, 256, 28),
        *_stage(256, 512, 14),
        *_stage(512, 1024, 7),
        (
            "resnet50:head:2048-1000",
            lambda: _layer(nn.Linear(2048, 1000), 1, 2048),
        ),
        _conv("resnet34", 64, 56, 128, 3, 2),
        _conv("resnet34", 128, 28, 256, 3, 2),
        _conv("resnet34", 256, 14, 512, 3, 2),
        _depthwise("mobilenetv3", 16, 112, 3),
        _conv("mobilenetv3", 16, 112, 64, 1),
        _depthwise("mobilenetv3", 64, 112, 3, 2),
        _depthwise("mobilenetv3", 72, 56, 5, 2),
        _conv("mobilenetv3", 40, 28, 240, 1),
        _depthwise("mobilenetv3", 672, 14, 5),
        _conv("efficientnet", 3, 224, 32, 3, 2),
        _depthwise("efficientnet", 32, 112, 3),
        _conv("efficientnet", 24, 56, 144, 1),
        _depthwise("efficientnet", 144, 56, 5, 2),
        _depthwise("efficientnet", 1152, 7, 5),
        _conv("efficientnet", 320, 7, 1280, 1),
        _conv("unet", 3, 128, 64, 3),
        _conv("unet", 64, 128, 64, 3),
        _conv("unet", 128, 64, 128, 3),
        _conv("unet", 256, 32, 256, 3),
        _conv("unet", 512, 32, 256, 3),
        _conv("unet", 128, 128, 64, 3),
        _conv1d(80, 100, 512, 7),
        _conv1d(256, 800, 256, 3),
        _conv1d(128, 6400, 128, 7, 3),
        _conv1d(64, 12800, 64, 11),
        _conv1d(32, 25600, 32, 3, 5),
        _conv1d(32, 25600, 1, 7),
    ]
)
"""Layers of ResNet-50, those of ResNet-34 that it does not have, of MobileNetV3 and
EfficientNet-B0, of a U-Net on 128x128, and of a vocoder."""


def _residual(rows: int, inputs: int, outputs: int) -> tuple[str, Make]:
    def make() -> Made:
        arguments = torch.randn(rows, inputs), torch.randn(rows, outputs)
        return Residual(inputs, outputs), arguments

    return f"residual:{rows}x{inputs}x{outputs}", make


RESIDUALS: dict[str, Make] = dict(
    [
        pair
        for size, width in ((56, 64), (28, 128), (14, 256), (7, 512))
        for pair in (
            _residual(size**2, 4 * width, width),
            _residual(size**2, width, 4 * width),
        )
    ]
)
"""Products with a residual of the shapes of ResNet-50's 1x1 layers."""

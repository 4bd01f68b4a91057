"""Models of PyTorch: perceptrons, a block of a vision transformer, ResNet-18.

They are written here, of random weights, since a package of models is not needed.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.frameworks import layer_models, whole_models


class Perceptron(nn.Module):
    """Perceptron between the attentions of ViT-B."""

    def __init__(self, width: int = 768) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    """A block of a vision transformer."""

    def __init__(self, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = Perceptron(width)
        self.heads = heads

    def forward(self, x: Any) -> Any:
        batch, tokens, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.norm2(x))


class Residual(nn.Module):
    """A block of ResNet-18."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.beside: nn.Module = nn.Identity()
        if stride > 1:
            self.beside = nn.Sequential(
                nn.Conv2d(before, channels, 1, stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.beside(x) + self.norm2(self.conv2(y)))


def resnet18(width: int = 64) -> nn.Module:
    """ResNet-18, which has 64 channels at first."""
    stem = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    blocks: list[nn.Module] = []
    before = width
    for channels in (width, 2 * width, 4 * width, 8 * width):
        stride = 1 if channels == before else 2
        blocks.append(Residual(before, channels, stride))
        blocks.append(Residual(channels, channels, 1))
        before = channels
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 1000)]
    return nn.Sequential(*stem, *blocks, *head)


def layers(*widths: int, act: Any = nn.ReLU) -> nn.Module:
    """Linear layers of these widths, with a function between them."""
    both = [(nn.Linear(a, b), act()) for a, b in pairwise(widths)]
    return nn.Sequential(*[part for pair in both for part in pair][:-1])


SMALL: dict[str, tuple[Any, tuple[int, ...]]] = {
    "mlp-tiny": (lambda: Perceptron(16), (4, 16)),
    "mlp": (Perceptron, (197, 768)),
    "mlp-small": (lambda: Perceptron(128), (64, 128)),
    "rows": (lambda: layers(32, 64, 64, 4), (8192, 32)),
    "wide-rows": (lambda: layers(32, 256, 32, act=nn.GELU), (16384, 32)),
    "narrow-rows": (lambda: layers(64, 16, 64), (16384, 64)),
    "points": (lambda: layers(8, 64, 128), (16384, 8)),
    "vit-block": (Block, (1, 197, 768)),
    "vit-block-small": (lambda: Block(128, 4), (1, 49, 128)),
    "resnet18-tiny": (lambda: resnet18(8), (1, 3, 32, 32)),
    "resnet18": (resnet18, (1, 3, 224, 224)),
}
"""How each is made, and the shape of its input."""


def _small(name: str) -> whole_models.Made:
    make, shape = SMALL[name]
    return make(), (torch.randn(shape),)


MODELS: dict[str, Callable[[], whole_models.Made]] = {
    **{name: partial(_small, name) for name in SMALL},
    **whole_models.MODELS,
    **layer_models.LAYERS,
    **layer_models.RESIDUALS,
}
"""Functions that make a module and its inputs: these, whole models and layers."""

SUITES = {
    "layers": tuple(layer_models.LAYERS),
    "residuals": tuple(layer_models.RESIDUALS),
}
"""Names of several models."""

"""Samples of images at places that are data (`grid_sampler_2d`), as lookups of the
channels of a pixel, which lie together then."""

import itertools
from collections.abc import Callable
from typing import Any

import torch

_CUBIC, _NEAREST = 2, 1
"""The numbers of interpolations; 0 is bilinear."""

_BORDER, _REFLECTED = 1, 2
"""The numbers of paddings: the nearest pixel; pixels as in a mirror."""


def samples(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of the op.

    Args:
        plain: a rule for other interpolations and paddings.
    """

    def rule(x: Any, grid: Any, mode: int, padding: int, has_corners: bool) -> Any:
        if mode == _CUBIC or padding == _REFLECTED:
            return plain(x, grid, mode, padding, has_corners)
        images, channels, *sizes = x.shape
        pixels = x.permute(0, 2, 3, 1).reshape(-1, channels)
        first = torch.arange(images).reshape(-1, 1, 1) * (sizes[0] * sizes[1])
        at = [
            _coordinates(grid[..., 1 - axis], size, padding, has_corners)
            for axis, size in enumerate(sizes)
        ]
        if mode == _NEAREST:
            row, column = (axis.round() for axis in at)
            nearest = _pixels(pixels, (row, column), sizes, first)
            return nearest.permute(0, 3, 1, 2)
        corners = [(axis.floor(), axis.floor() + 1) for axis in at]
        weights = [
            (high - axis, axis - low)
            for axis, (low, high) in zip(at, corners, strict=True)
        ]
        total: Any = 0.0
        for i, j in itertools.product(range(2), repeat=2):
            corner = corners[0][i], corners[1][j]
            weight = (weights[1][j] * weights[0][i]).unsqueeze(-1)
            total = total + _pixels(pixels, corner, sizes, first) * weight
        return total.permute(0, 3, 1, 2)

    return rule


def _coordinates(places: Any, size: int, padding: int, has_corners: bool) -> Any:
    """Places from -1 to 1 as those of pixels."""
    half = size * 0.5
    scaled = places * (half - 0.5 if has_corners else half) + (half - 0.5)
    if padding == _BORDER:  # of NaN the first pixel
        return torch.where(scaled == scaled, scaled, 0.0).clamp(0, size - 1)
    return scaled


def _pixels(pixels: Any, at: tuple[Any, Any], sizes: list[int], first: Any) -> Any:
    """The pixels at a row and a column; 0 outside of an image."""
    row, column = at
    is_in_row = torch.logical_and(column >= 0, column < sizes[1])
    is_in_column = torch.logical_and(row >= 0, row < sizes[0])
    is_inside = torch.logical_and(is_in_row, is_in_column)
    place = row.to(torch.int64) * sizes[1] + column.to(torch.int64) + first
    place = torch.where(is_inside, place, 0)
    looked_up = pixels.index_select(0, place.reshape(-1)).reshape(*place.shape, -1)
    return torch.where(is_inside.unsqueeze(-1), looked_up, 0.0)

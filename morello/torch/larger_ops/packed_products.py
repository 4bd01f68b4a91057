"""Products with weights of 4 bits, two in a byte, as PyTorch packs them for CPUs."""

from typing import Any

import torch

_COLUMNS = {"AVX2": 32, "AVX512": 64}
"""Columns of a block of packed weights, by what PyTorch says of the CPU."""


def packed_columns() -> int:
    """The columns of a block of weights that PyTorch packs for this CPU; 0 if it packs
    none."""
    return _COLUMNS.get(torch.backends.cpu.get_cpu_capability(), 0)


def packed_product(x: Any, packed: Any, group: int, scales_and_zeros: Any) -> Any:
    """A product with integers of 4 bits that share bytes, rounded once: those of a
    whole block of columns with the ones half a block on, others with their
    neighbours."""
    n, k = packed.shape[0], 2 * packed.shape[1]
    block = packed_columns()
    whole = n - n % block
    packed, parts = packed.float(), []
    if whole:
        halves = packed[:whole].reshape(whole // block, k, 1, block // 2)
        integers = _of_4_bits(halves, (2, 1)).permute(1, 0, 2, 3)
        parts.append((integers.reshape(k, whole), scales_and_zeros[:, :whole]))
    if whole < n:
        halves = packed[whole:].reshape(k, (n - whole) // 2, 1)
        integers = _of_4_bits(halves, (2,)).reshape(k, n - whole)
        parts.append((integers, scales_and_zeros[:, whole:]))
    columns = []
    for integers, beside in parts:
        groups, count, _ = beside.shape
        wide = beside.float()[:, None].expand(groups, k // groups, count, 2)
        scales, zeros = wide.reshape(k, count, 2).unbind(-1)
        columns.append(torch.mm(x.float(), (integers - 8) * scales + zeros))
    return (torch.cat(columns, 1) if len(columns) > 1 else columns[0]).to(x.dtype)


def _of_4_bits(halves: Any, shape: tuple[int, ...]) -> Any:
    """The integers in the low and the high halves of bytes, along an axis of a shape,
    as floats whose limits can be seen."""
    places = 1 - torch.arange(2).reshape(shape) * (1 - 1 / 16)  # 1 and 1/16
    upper = torch.floor(halves * places)
    return torch.floor(torch.clamp(upper - torch.floor(upper / 16) * 16, 0, 15))

"""How the elements of a tensor lie in memory.

A layout is an order of physical dimensions, outermost first. Each is a whole logical
dimension (``2``), a fixed pack of one (``2p16``: runs of 16 neighbours; the whole
dimension then counts packs), or an odd-even interleave (``2oe16``: a pack whose even
elements come before its odd ones). ``[0,2,1,2p16]`` is a (b, k, n) operand in panels of
16 columns. The last pack of a size that does not divide is padded.

Functions that take sizes work on integers and, elementwise, on integer arrays.
"""

import dataclasses
import functools
import re
from typing import Any

import numpy as np

from morello import new_arrays
from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.hashing import Interned

LINE_BYTES = 64
"""Bytes of a cache line on every x86 this project targets."""

_DIM = re.compile(r"(\d{1,2})(?:(p|oe)(\d{1,9}))?", re.ASCII)


@dataclasses.dataclass(frozen=True, order=True)
class PhysicalDim(Interned):
    """One physical dimension: all of a logical one, or a fixed pack of it."""

    dim: int
    pack: int = 0
    """Elements in the pack; 0 for a whole dimension."""
    odd_even: bool = False
    """Whether the pack holds its even elements first, then its odd ones."""

    def __str__(self) -> str:
        mark = "oe" if self.odd_even else "p"
        return f"{self.dim}{mark}{self.pack}" if self.pack else str(self.dim)


def ceil_div(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, for non-negative integers or arrays of them."""
    return -(-a // b)


_Factor = tuple[int, int]
"""A dimension and its pack, of which it counts the packs; or -1 and a number."""


def _product(factors: tuple[_Factor, ...], sizes: tuple[Any, ...], start: Any) -> Any:
    for dim, pack in factors:
        if dim < 0:
            start = start * pack
        elif pack == 1:
            start = start * sizes[dim]
        else:
            start = start * ceil_div(sizes[dim], pack)
    return start


@dataclasses.dataclass(frozen=True, order=True)
class Layout(Interned):
    """An order of physical dimensions, outermost first."""

    dims: tuple[PhysicalDim, ...]

    def __post_init__(self) -> None:
        whole = [d.dim for d in self.dims if not d.pack]
        if sorted(whole) != list(range(len(whole))):
            raise SpecError(
                f"layout {self} does not name each of the dimensions 0 to "
                f"{len(whole) - 1} whole exactly once",
                "for example [0,2,1,2p16]",
            )
        packed = [d.dim for d in self.dims if d.pack]
        if len(set(packed)) != len(packed) or any(d >= len(whole) for d in packed):
            raise SpecError(f"layout {self} packs a dimension twice or one it lacks")
        for d in self.dims:
            self._check_pack(d)

    def _check_pack(self, d: PhysicalDim) -> None:
        if not d.pack:
            return
        if self.dims.index(d) < self.dims.index(PhysicalDim(d.dim)):
            raise SpecError(f"layout {self} has the pack {d} outside its own dimension")
        if d.pack < 2 or (d.odd_even and d.pack % 2):
            raise SpecError(
                f"layout {self}: the pack {d} must be at least 2 and, odd-even, even"
            )

    @classmethod
    @functools.lru_cache(maxsize=64)
    def row_major(cls, rank: int) -> "Layout":
        """The layout of a C-contiguous array."""
        return cls(tuple(PhysicalDim(i) for i in range(rank)))

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def parse(cls, text: str) -> "Layout":
        """The layout written ``[0,2,1,2p16]``.

        Raises:
            SpecError: the text is not a layout.
        """
        body = text.strip()
        if not (body.startswith("[") and body.endswith("]")):
            raise SpecError(f"'{text}' is not a layout", "write it as [0,2,1,2p16]")
        dims = []
        for part in body[1:-1].split(","):
            match = _DIM.fullmatch(part.strip())
            if match is None:
                raise SpecError(
                    f"'{part.strip()}' in the layout '{text}' is not a dimension",
                    "write 1 for a whole dimension, 1p16 for a pack, 1oe16 for an "
                    "odd-even pack",
                )
            pack = int(match[3]) if match[3] else 0
            dims.append(PhysicalDim(int(match[1]), pack, match[2] == "oe"))
        return cls(tuple(dims))

    def __str__(self) -> str:
        return "[" + ",".join(map(str, self.dims)) + "]"

    @cached_property
    def rank(self) -> int:
        """The number of logical dimensions."""
        return sum(not d.pack for d in self.dims)

    @cached_property
    def is_row_major(self) -> bool:
        """Whether it is the layout of a C-contiguous array."""
        return self == Layout.row_major(self.rank)

    @property
    def innermost(self) -> int:
        """The logical dimension whose neighbours are neighbours in memory."""
        return self.dims[-1].dim

    @cached_property
    def streamed(self) -> int:
        """The logical dimension along which neighbouring tiles follow each other."""
        return self.dims[-2 if self._ends_in_panels else -1].dim

    @cached_property
    def row(self) -> int | None:
        """The logical dimension from row to row, or panel to panel; None if one row."""
        outer = self.dims[: -2 if self._ends_in_panels else -1]
        return outer[-1].dim if outer else None

    @property
    def _ends_in_panels(self) -> bool:
        return self.dims[-1].pack > 0 and len(self.dims) > 1

    def pack(self, dim: int) -> int:
        """The pack of a logical dimension; 1 where it has none."""
        return self._packs.get(dim, 1)

    @cached_property
    def _packs(self) -> dict[int, int]:
        return {d.dim: d.pack for d in self.dims if d.pack}

    @cached_property
    def is_packed(self) -> bool:
        """Whether any dimension is packed."""
        return any(d.pack for d in self.dims)

    def physical_shape(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the array that holds a tensor of ``sizes``, padding included."""
        return tuple(
            d.pack if d.pack else ceil_div(sizes[d.dim], self.pack(d.dim))
            for d in self.dims
        )

    def tile_shape(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The physical shape of a tile: a pack wider than the tile is cut to it."""
        return tuple(
            min(d.pack, sizes[d.dim])
            if d.pack
            else ceil_div(sizes[d.dim], self.pack(d.dim))
            for d in self.dims
        )

    def index_map(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        """The physical index of a logical one (integers or arrays)."""
        return tuple(self.place(d, index[d.dim]) for d in self.dims)

    def place(self, d: PhysicalDim, i: Any) -> Any:
        """The index along a physical dimension of element ``i`` of its logical one."""
        if not d.pack:
            return i // self.pack(d.dim)
        inner = i % d.pack
        if d.odd_even:
            return inner // 2 + (inner % 2) * (d.pack // 2)
        return inner

    def to_physical(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array that holds a tensor: C-contiguous, padding zero.

        Args:
            array: the tensor, of any strides; its shape is the logical one.
        """
        out = new_arrays.zeros(self.physical_shape(array.shape), array.dtype)
        blocks, padded = self._blocks(out, array.shape)
        if padded != array.shape:
            whole = np.zeros(padded, array.dtype)
            whole[tuple(map(slice, array.shape))] = array
            array = whole
        blocks[...] = array.reshape(blocks.shape)
        return out

    def to_logical(
        self, array: np.ndarray[Any, Any], sizes: tuple[int, ...]
    ) -> np.ndarray[Any, Any]:
        """The tensor of ``sizes`` that a physical array holds: C-contiguous."""
        return np.ascontiguousarray(self.logical_view(array, sizes))

    def logical_view(
        self, array: np.ndarray[Any, Any], sizes: tuple[int, ...]
    ) -> np.ndarray[Any, Any]:
        """The logical tensor of any strides: a view of the array, or copied packs."""
        blocks, padded = self._blocks(array, sizes)
        return blocks.reshape(padded)[tuple(map(slice, sizes))]

    def _blocks(
        self, physical: np.ndarray[Any, Any], sizes: tuple[int, ...]
    ) -> tuple[np.ndarray[Any, Any], tuple[int, ...]]:
        """A view of a physical array in logical order, and its shape when flattened.

        Each logical dimension is one of the view's, or one that counts packs and then
        those of the pack: one, or two where even and odd elements lie apart.
        """
        shape: list[int] = []
        axes: dict[int, list[int]] = {d: [] for d in range(self.rank)}
        for d, extent in zip(self.dims, self.physical_shape(sizes), strict=True):
            at = len(shape)
            shape += [2, extent // 2] if d.odd_even else [extent]
            axes[d.dim] += [at + 1, at] if d.odd_even else [at]
        order = [axis for d in range(self.rank) for axis in axes[d]]
        padded = tuple(
            ceil_div(size, self.pack(d)) * self.pack(d) for d, size in enumerate(sizes)
        )
        return physical.reshape(shape).transpose(order), padded

    def runs(self, sizes: tuple[Any, ...], itemsize: int) -> tuple[Any, Any]:
        """How many runs of neighbouring bytes a tile has, and the bytes of one.

        Nothing is assumed of the strides between whole dimensions, since a tile may
        lie in a larger array, but a pack and the dimension around it are together.
        """
        outer, inner = self._factors
        return _product(outer, sizes, 1), _product(inner, sizes, itemsize)

    @cached_property
    def _factors(self) -> tuple[tuple[_Factor, ...], tuple[_Factor, ...]]:
        """The physical dimensions around a run, and those that are one."""
        factors = tuple(
            (-1, d.pack) if d.pack else (d.dim, self.pack(d.dim)) for d in self.dims
        )
        inner = 1  # the packs at the end, and the dimension around them
        while self.dims[-inner].pack:
            inner += 1
        return factors[:-inner], factors[-inner:]

    def bytes(self, sizes: tuple[Any, ...], itemsize: int) -> Any:
        """The bytes of a tile, the padding of its last packs included."""
        count, run = self.runs(sizes, itemsize)
        return count * run

    def lines(self, sizes: tuple[Any, ...], itemsize: int) -> Any:
        """The cache lines of a tile whose runs each start a line."""
        count, run = self.runs(sizes, itemsize)
        return count * ceil_div(run, LINE_BYTES)

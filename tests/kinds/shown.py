"""Kinds that show what Morello can hold: several outputs, windows, options of any type.

None is shipped: `register` adds them, their kernels and the target ``shown`` to the
registries. It must precede the first use of the dialect, which is generated from the
list of kinds: tests do it in processes of their own (`tests.kinds.test_shown`).
"""

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from morello.cost.counts import OpCounts
from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.template import Kernel
from morello.machine import AVX2
from morello.machine.text import TARGETS
from morello.spec import L1, Array, Dtype, IndexMap, Kind, Operand, Spec, SpecKey
from morello.spec.elements.operations import Elements
from morello.spec.frame import Condition, Frame
from morello.spec.index_map import plain
from morello.spec.kinds import INSTANCES, KINDS


def _integers(label: str, dtypes: tuple[Dtype, ...]) -> None:
    if set(dtypes) != {Dtype.S32}:
        raise SpecError(f"{label} has no dtypes {','.join(map(str, dtypes))}")


@dataclasses.dataclass(frozen=True, order=True)
class Extent(Kind):
    """The least and the greatest element of each row: two outputs."""

    name: ClassVar[str] = "extent"
    example: ClassVar[str] = "extent:6x9:s32"

    @property
    def dims(self) -> tuple[str, ...]:
        """Rows, columns."""
        return ("m", "n")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """src [m,n], low [m], high [m]."""
        return _EXTENT

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """s32 alone."""
        _integers(self.label, dtypes)

    def flops(self, sizes: tuple[int, ...]) -> int:
        """Two comparisons for each element."""
        return 2 * sizes[0] * sizes[1]

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> tuple[Any, Any]:
        """Of one element: itself, twice."""
        only = elements.read(0)
        return only, only

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """The least and the greatest of each row."""
        return arrays[0].min(axis=1), arrays[0].max(axis=1)


_EXTENT = (
    Operand("src", plain(0, 1), is_read=True, is_written=False),
    Operand("low", plain(0), is_read=False, is_written=True),
    Operand("high", plain(0), is_read=False, is_written=True),
)


@dataclasses.dataclass(frozen=True, order=True)
class Slide(Kind):
    """out[i] = sum over k of src[stride*i + dilation*k]: an operand with a window."""

    name: ClassVar[str] = "slide"
    example: ClassVar[str] = "slide:6x3:s32:steps=2,1"
    accum: bool = False
    """Whether the sum is added to what the output holds."""
    steps: tuple[int, ...] = (1, 1)
    """The stride and the dilation."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Positions, elements of a window."""
        return ("i", "k")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """src [stride*i + dilation*k], out [i]."""
        return _slide(self.accum, self.steps)

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """s32 alone."""
        _integers(self.label, dtypes)

    def flops(self, sizes: tuple[int, ...]) -> int:
        """An addition for each element of a window."""
        return sizes[0] * sizes[1]

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """out + src."""
        new = elements.read(0)
        return elements.add(elements.read(1), new)

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> Array:
        """The sum of each window."""
        stride, dilation = self.steps
        windows = stride * np.arange(sizes[0])[:, None] + dilation * np.arange(sizes[1])
        src, *initial = arrays
        total = src.astype(np.int64)[windows].sum(axis=1)
        out: Array = sum(initial, total).astype(np.int32)
        return out


@lru_cache
def _slide(accum: bool, steps: tuple[int, ...]) -> tuple[Operand, ...]:
    window = IndexMap(tuple(zip((0, 1), steps, strict=True)))
    return (
        Operand("src", (window,), is_read=True, is_written=False),
        Operand("out", plain(0), is_read=accum, is_written=True),
    )


def _near(key: SpecKey) -> bool:
    return all(tensor.level is L1 for tensor in key.tensors)


@dataclasses.dataclass(frozen=True)
class ExtentRow(Kernel):
    """The least and the greatest element of one row in L1, in any layout."""

    def accepts(self, key: SpecKey) -> bool:
        """Everything in L1, columns unpacked."""
        return isinstance(key.kind, Extent) and (
            _near(key) and key.tensors[0].layout.pack(1) == 1
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row."""
        return (Condition(frame.sizes[0] == 1, "takes one row: tile m by 1"),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Two comparisons for each element."""
        return OpCounts.of({"scalar": 2 + 2 * frame.sizes[1]})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop that carries both."""
        src, low, high = operands
        first = emitter.load_element(src, (0, 0))

        def step(at: Value, carried: tuple[Value, ...]) -> list[Value]:
            new = emitter.load_element(src, (0, at))
            least, greatest = carried
            return [
                emitter.minimum(Dtype.S32, least, new),
                emitter.maximum(Dtype.S32, greatest, new),
            ]

        least, greatest = emitter.loop(1, spec.sizes[1], 1, (first, first), step)
        emitter.store_element(least, low, (0,))
        emitter.store_element(greatest, high, (0,))


SHOWN: tuple[type[Kind], ...] = (Extent, Slide)

ROWS = (ExtentRow("extent_row", AVX2.isa, "The extent of one row."),)
"""Their kernels: single elements of a slide are the scalar kernel's."""

TARGET = dataclasses.replace(AVX2, name="shown", kernels=(*AVX2.kernels, "extent_row"))


def register() -> None:
    """Add all of it to the registries of this process."""
    KINDS.extend(SHOWN)
    INSTANCES[Slide] = lambda: (Slide(True), Slide(), Slide(True, (2, 3)))
    KERNELS.update({kernel.name: kernel for kernel in ROWS})
    TARGETS[TARGET.name] = TARGET

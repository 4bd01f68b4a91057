"""A Spec: what to compute, on which operands, within which limits."""

import dataclasses
import importlib
import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from morello import new_arrays
from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.checking import random_inputs
from morello.spec.compose import kind_of_call
from morello.spec.elements.dtypes import Dtype
from morello.spec.hashing import HashedOnce, Interned
from morello.spec.kind import Array, Kind, each
from morello.spec.operand import Operand
from morello.spec.size_range import SizeRange, WrittenSizes
from morello.spec.tensors.layout import Layout
from morello.spec.tensors.limits import Limits
from morello.spec.tensors.memories import MEM
from morello.spec.tensors.tensor import TensorSpec

MAX_SIZE = 1 << 31
"""No dimension is this long or longer."""

ANY_ROW = -1
"""The leading dimension of an operand whose rows are as far apart as a call says."""

MOST_RANGES = 2
"""Sizes that a call may say."""

MAX_BYTES = 1 << 46
"""No operand has this many bytes or more: addresses have 47 bits."""


@dataclasses.dataclass(frozen=True, order=True)
class SpecKey(Interned):
    """Key that Specs of one table share: everything but sizes and limits."""

    kind: Kind
    tensors: tuple[TensorSpec, ...]
    serial: bool = True

    def __str__(self) -> str:
        forms = " ".join(map(str, self.tensors))
        return f"{self.kind} {forms}{'' if self.serial else ' parallel'}"

    @cached_property
    def dtypes(self) -> tuple[Dtype, ...]:
        """The dtype of each operand."""
        return tuple(t.dtype for t in self.tensors)

    def operand_sizes(self, operand: int, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sizes of one operand (integers or arrays)."""
        return self.kind.operands[operand].sizes(sizes)

    def with_tensor(self, operand: int, tensor: TensorSpec) -> "SpecKey":
        """The key with another form of one operand."""
        tensors = list(self.tensors)
        tensors[operand] = tensor
        return SpecKey(self.kind, tuple(tensors), self.serial)


@dataclasses.dataclass(frozen=True, order=True)
class Spec(HashedOnce):
    """A computation to be implemented.

    Args:
        kind: what to compute.
        sizes: the size of each dimension of the kind, at least 1; of one that each call
            says, the greatest.
        tensors: the form of each operand.
        limits: how much of each memory may be used.
        serial: whether parallel loops are forbidden.
        leading: for each operand the elements from the start of a row to the start of
            the next one, its leading dimension; 0 where rows follow each other without
            gaps, `ANY_ROW` where each call says it. Empty if no operand has one. Specs
            within a program have none: the strides of their memrefs say it.
        ranges: the dimensions whose size each call says. Empty if all are settled.
    """

    kind: Kind
    sizes: tuple[int, ...]
    tensors: tuple[TensorSpec, ...]
    limits: Limits
    serial: bool = True
    leading: tuple[int, ...] = ()
    ranges: tuple[SizeRange, ...] = ()

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        self._check_sizes()
        _check_forms(self.kind, self.tensors)
        if self.ranges:
            self._check_ranges()
        if self.leading:
            self._check_leading()
        self._check_bytes()

    def _check_sizes(self) -> None:
        names = self.kind.dims
        if len(self.sizes) != len(names):
            raise SpecError(
                f"{self.kind.label} has {len(names)} dimensions ({','.join(names)}) "
                f"but {len(self.sizes)} sizes"
            )
        check_sizes(names, self.kind.label, self.sizes)
        for operand in self.kind.operands:
            for axis in operand.axes:
                if axis.halves and self.sizes[axis.dims[0]] % axis.divisor:
                    raise SpecError(
                        f"'{operand.name}' has two of {names[axis.dims[0]]} in a byte, "
                        f"which is {self.sizes[axis.dims[0]]}: an odd number",
                        "add a row of zeros to what is summed along it",
                    )

    def _check_ranges(self) -> None:
        if len(self.ranges) > MOST_RANGES:
            raise SpecError(
                f"{self.kind.label} has {len(self.ranges)} ranges of sizes",
                f"give {MOST_RANGES} at most; a name ties dimensions of one size",
            )
        taken: set[int] = set()
        for one in self.ranges:
            sizes = {self.sizes[dim] for dim in one.dims}
            greatest = max(sizes)
            whole = one.step > 0 and (greatest - one.least) % one.step == 0
            if taken & {*one.dims} or len(sizes) > 1 or not 1 <= one.least < greatest:
                raise SpecError(f"{one} is no range of the sizes {self.sizes}")
            if not whole:
                raise SpecError(f"the steps of {one} do not lead to {greatest}")
            taken |= {*one.dims}

    def __new__(cls, *args: Any, **kwargs: Any) -> "Spec":
        """A Spec of its parts; text is for `parse`.

        Raises:
            SpecError: it is given text.
        """
        if args and isinstance(args[0], str):
            raise SpecError(
                f"Spec({args[0]!r}): a Spec is made of a kind, sizes, tensors, limits",
                f"write Spec.parse({args[0]!r})",
            )
        return super().__new__(cls)

    @classmethod
    def parse(cls, text: str, target: Any = None) -> "Spec":
        """The Spec written ``text``: ``Spec.parse("matmul:512x512x512:f32")``.

        Args:
            text: as `morello.compile` takes it, every layout settled.
            target: the machine whose registers and caches limit it where the text says
                nothing: a name or a `Target`, as `morello.compile` takes it.

        Raises:
            SpecError: the text is not a Spec; the message names the part and the
                reason.
            TargetError: no target has the name.
        """
        if not isinstance(text, str):
            raise SpecError(
                f"'text' is {type(text).__name__}, not the text of a Spec",
                "write for example Spec.parse('matmul:512x512x512:f32')",
            )
        # What knows targets and texts of Specs is built on this.
        choice = importlib.import_module("morello.compiler.target_choice")
        reader = importlib.import_module("morello.spec.text.specs")
        spec: Spec = reader.parse_spec(text, choice.chosen_target(target).limits)
        return spec

    def _check_leading(self) -> None:
        if len(self.leading) != len(self.tensors) or not any(self.leading):
            raise SpecError(
                f"{self.kind.label} has {len(self.tensors)} operands, but the leading "
                f"dimensions are {self.leading}",
                "give one for each operand, 0 for none; leave them out if all are 0",
            )
        for i, (tensor, leading) in enumerate(
            zip(self.tensors, self.leading, strict=True)
        ):
            if leading:
                name = self.kind.operands[i].name
                check_leading(name, tensor, self.shape(i), leading)

    def _check_bytes(self) -> None:
        for i, tensor in enumerate(self.tensors):
            if self.leading and self.leading[i]:
                total = self.span(i) * tensor.dtype.itemsize
            else:
                total = tensor.layout.bytes(self.shape(i), tensor.dtype.itemsize)
            if total >= MAX_BYTES:
                raise SpecError(
                    f"operand '{self.kind.operands[i].name}' of {self.kind.label} has "
                    f"{total} bytes: more than this machine can address"
                )

    @cached_property
    def key(self) -> SpecKey:
        """Everything but sizes and limits."""
        return SpecKey(self.kind, self.tensors, self.serial)

    @property
    def dtypes(self) -> tuple[Dtype, ...]:
        """The dtype of each operand."""
        return tuple(t.dtype for t in self.tensors)

    @property
    def least(self) -> tuple[int, ...]:
        """The least size of each dimension; `sizes` has the greatest."""
        sizes = list(self.sizes)
        for one in self.ranges:
            for dim in one.dims:
                sizes[dim] = one.least
        return tuple(sizes)

    @property
    def step(self) -> tuple[int, ...]:
        """From each size of a dimension to the next; 0 where there is one alone."""
        steps = [0] * len(self.sizes)
        for one in self.ranges:
            for dim in one.dims:
                steps[dim] = one.step
        return tuple(steps)

    @property
    def greatest(self) -> tuple[int, ...]:
        """The greatest size of each range."""
        return tuple(self.sizes[one.dims[0]] for one in self.ranges)

    @property
    def range_numbers(self) -> tuple[int, ...]:
        """For each dimension the number of its range; -1 of a settled one."""
        numbers = {dim: n for n, one in enumerate(self.ranges) for dim in one.dims}
        return tuple(numbers.get(dim, -1) for dim in range(len(self.sizes)))

    @property
    def open_dims(self) -> frozenset[int]:
        """The dimensions whose sizes have no end."""
        return frozenset(d for one in self.ranges if one.is_open for d in one.dims)

    @property
    def every_size(self) -> list[range]:
        """The sizes of each range."""
        pairs = zip(self.ranges, self.greatest, strict=True)
        return [one.sizes(greatest) for one, greatest in pairs]

    @property
    def calls(self) -> Iterator[tuple[int, ...]]:
        """The sizes of every call, one for each of `ranges`: the last changes first."""
        return itertools.product(*self.every_size)

    def at(self, *sizes: int) -> "Spec":
        """The Spec of a call: every size settled, and the numbers that follow from it.

        Args:
            sizes: a size for each of `ranges`, in order.

        Raises:
            SpecError: there are more or less, or one is not in its range.
        """
        point = self.point(*sizes)
        return dataclasses.replace(point, kind=kind_of_call(self.kind, sizes))

    def point(self, *sizes: int) -> "Spec":
        """The Spec that the programs of a call are of: its numbers still follow from
        the sizes of the call.

        Args:
            sizes: a size for each of `ranges`, in order.

        Raises:
            SpecError: there are more or less, or one is not in its range.
        """
        if len(sizes) != len(self.ranges):
            raise SpecError(
                f"{len(sizes)} sizes are given for {len(self.ranges)} ranges of "
                f"{self.kind.label}",
                "give one for each range, in order",
            )
        settled = list(self.sizes)
        for one, size, greatest in zip(self.ranges, sizes, self.greatest, strict=True):
            if not one.takes(size, greatest):
                raise SpecError(
                    f"{self.kind.dims[one.dims[0]]} is {size}, and {self.kind.label} "
                    f"takes {one.text(greatest)}"
                )
            for dim in one.dims:
                settled[dim] = size
        return dataclasses.replace(self, sizes=tuple(settled), ranges=())

    def part(self, first: tuple[int, ...], last: tuple[int, ...]) -> "Spec":
        """The Spec with the sizes of each range from a first to a last one, and all
        above the last one of a range without end."""
        parts = (
            one.part(start, end, greatest)
            for one, greatest, start, end in zip(
                self.ranges, self.greatest, first, last, strict=True
            )
            if start < end
        )
        return dataclasses.replace(self.point(*last), ranges=tuple(parts))

    def shape(self, operand: int) -> tuple[int, ...]:
        """The logical shape of one operand; of the greatest sizes."""
        return self.kind.operands[operand].sizes(self.sizes)

    def physical_shape(self, operand: int) -> tuple[int, ...]:
        """The shape of the array that holds one operand."""
        return self.tensors[operand].layout.physical_shape(self.shape(operand))

    def has_any_row(self, operand: int) -> bool:
        """Whether a call says how far the rows of an operand are apart."""
        return bool(self.leading) and self.leading[operand] == ANY_ROW

    def strides(self, operand: int, row: int = 0) -> tuple[int, ...]:
        """The elements from one index to the next along each physical dimension.

        Args:
            operand: its number.
            row: the elements from row to row where a call says it; 0 for no gaps.
        """
        shape = self.physical_shape(operand)
        leading = self.leading[operand] if self.leading else 0
        if leading == ANY_ROW:
            leading = row
        strides = [1]
        for extent in reversed(shape[1:]):
            row = leading if leading and len(strides) == 1 else strides[-1] * extent
            strides.append(row)
        return tuple(reversed(strides))

    def span(self, operand: int) -> int:
        """The elements from the first to the last of an argument, gaps included."""
        pairs = zip(self.physical_shape(operand), self.strides(operand), strict=True)
        return 1 + sum((extent - 1) * stride for extent, stride in pairs)

    def argument(self, operand: int, fill: int = 0) -> Array:
        """A new argument for one operand, of which every byte, gaps included, is
        ``fill``."""
        shape, dtype = self.physical_shape(operand), self.dtypes[operand].numpy
        view = new_arrays.strided(shape, self.strides(operand), dtype)
        memory: Any = view.base  # of all bytes, which the view may skip
        memory.view(np.uint8).fill(fill)
        return view

    def to_physical(self, operand: int, array: Array) -> Array:
        """The argument that holds a logical array for one operand."""
        tensor = array.reshape(self.shape(operand))
        physical = self.tensors[operand].layout.to_physical(tensor)
        if not self.leading or not self.leading[operand] or self.has_any_row(operand):
            return physical
        strided = self.argument(operand)
        strided[...] = physical
        return strided

    def to_logical(self, operand: int, array: Array) -> Array:
        """The logical array that an argument for one operand holds."""
        physical = array.reshape(self.physical_shape(operand))
        layout = self.tensors[operand].layout
        return layout.to_logical(physical, self.shape(operand))

    @property
    def flops(self) -> int:
        """The arithmetic operations of the definition."""
        return self.kind.flops(self.sizes)

    def random(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Arrays in logical order for every operand that is read."""
        shapes = tuple(self.shape(i) for i in range(len(self.tensors)))
        return random_inputs(self.kind, rng, self.dtypes, shapes)

    def evaluate(self, *arrays: Array) -> Any:
        """The definition, for arrays in logical order: the output, or a tuple of
        several."""
        results = self.outputs(*arrays)
        return results[0] if len(results) == 1 else results

    def outputs(self, *arrays: Array) -> tuple[Array, ...]:
        """The definition, for arrays in logical order: every output; of the greatest
        sizes."""
        if self.ranges:
            return self.at(*self.greatest).outputs(*arrays)
        outputs = each(self.kind.evaluate(self.sizes, self.dtypes, arrays))
        return tuple(
            np.ascontiguousarray(np.broadcast_to(out, self.shape(operand)))
            for operand, out in zip(self.kind.written, outputs, strict=True)
        )

    def __str__(self) -> str:
        sizes = str(WrittenSizes(self.sizes, self.ranges))
        forms = " ".join(map(str, self.tensors))
        serial = "" if self.serial else " parallel"
        rows = ("?" if row == ANY_ROW else str(row) for row in self.leading)
        leading = f" leading {','.join(rows)}" if self.leading else ""
        return f"{self.kind.label}:{sizes} {forms} {self.limits}{serial}{leading}"


@lru_cache(maxsize=65536)
def _check_forms(kind: Kind, tensors: tuple[TensorSpec, ...]) -> None:
    """Refuse operands that no Spec of a kind can have, whatever its sizes."""
    if len(tensors) != len(kind.operands):
        raise SpecError(
            f"{kind.label} has {len(kind.operands)} operands but {len(tensors)} forms"
        )
    kind.check_dtypes(tuple(t.dtype for t in tensors))
    for operand, tensor in zip(kind.operands, tensors, strict=True):
        check_form(kind, operand, tensor)


def check_form(kind: Kind, operand: Operand, tensor: TensorSpec) -> None:
    """Refuse a form that an operand of a kind cannot have, whatever its sizes.

    Raises:
        SpecError: it has another rank, or parts the windows that it is read through.
    """
    if tensor.rank != operand.rank:
        raise SpecError(
            f"operand '{operand.name}' of {kind.label} has {operand.rank} "
            f"dimensions but its layout {tensor.layout} has {tensor.rank}",
            f"for example {Layout.row_major(operand.rank)}",
        )
    if not operand.is_plain:
        _check_window(kind, operand, tensor)


def _check_window(kind: Kind, operand: Operand, tensor: TensorSpec) -> None:
    """Refuse forms that an operand which is read through windows cannot have."""
    packed = [d.dim for d in tensor.layout.dims if d.pack]
    cut = any(
        not (operand.axes[axis].is_plain or operand.axes[axis].is_divided)
        for axis in packed
    )
    if cut or tensor.level.is_registers:
        raise SpecError(
            f"operand '{operand.name}' of {kind.label} is read through a window: "
            f"windows overlap, so it cannot be {tensor}",
            "use a layout without packs of what is no dimension, in memory or a cache",
        )


def check_leading(
    name: str, tensor: TensorSpec, shape: tuple[int, ...], leading: int
) -> None:
    """Refuse a leading dimension that an operand of logical ``shape`` cannot have.

    Raises:
        SpecError: it is not longer than a row, or the operand has no rows to part.
    """
    if not tensor.level.is_main or tensor.layout.is_packed or tensor.rank < 2:
        raise SpecError(
            f"operand '{name}' of form {tensor} has the leading dimension "
            f"{'?' if leading == ANY_ROW else leading}",
            "only arguments in MEM of an unpacked layout with rows have one",
        )
    if leading >= MAX_SIZE:
        raise SpecError(
            f"the leading dimension {leading} of operand '{name}' is not below "
            f"{MAX_SIZE}"
        )
    row = tensor.layout.physical_shape(shape)[-1]
    parts = leading == ANY_ROW or leading > row
    if not parts or tensor.contiguous:
        raise SpecError(
            f"the leading dimension {leading} of operand '{name}' does not part its "
            f"rows of {row} elements",
            f"give more than {row}, and a form that is not contiguous",
        )


def check_sizes(names: Iterable[str], label: str, sizes: Iterable[int]) -> None:
    """Refuse sizes of dimensions that no Spec has.

    Raises:
        SpecError: one is not between 1 and `MAX_SIZE`.
    """
    for name, size in zip(names, sizes, strict=True):
        if not 1 <= size < MAX_SIZE:
            raise SpecError(
                f"size {size} of dimension {name} of {label} is not between 1 and "
                f"{MAX_SIZE - 1}",
                "give one in between",
            )


def argument_tensor(dtype: Dtype, layout: Layout) -> TensorSpec:
    """The form of an argument: in memory, and contiguous unless it is packed."""
    return TensorSpec(dtype, MEM, layout, contiguous=not layout.is_packed)

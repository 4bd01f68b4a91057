"""The function that brings weights into a kernel's layout at run time, as LLVM IR.

A program calls it once for each operand that has a layout of its own, when it loads
its weights. It walks the packed array in the order of memory, so that every element is
written once, and reads the element that belongs there; places of no element become
zero.
"""

import dataclasses
import math

from morello.machine.architectures import HOST
from morello.spec import Layout

_STRIDE = "%stride{dim}"


def pack_name(name: str, operand: str) -> str:
    """The name of the function that packs an operand of a kernel."""
    return f"{name}_pack_{operand}"


@dataclasses.dataclass(frozen=True)
class Packable:
    """An operand that lies otherwise than row-major.

    Args:
        name: of the operand.
        shape: the sizes of its logical dimensions.
        layout: how the kernel reads it.
        strides: of the physical dimensions, in elements.
        itemsize: bytes of an element.
    """

    name: str
    shape: tuple[int, ...]
    layout: Layout
    strides: tuple[int, ...]
    itemsize: int


class _Writer:
    """Nested loops over the physical dimensions, outermost first."""

    def __init__(self, operand: Packable) -> None:
        self._operand = operand
        self._extents = operand.layout.physical_shape(operand.shape)
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def open(self, loop: int) -> None:
        before = f"loop{loop - 1}" if loop else "start"
        self.add(f"br label %loop{loop}")
        self.lines.append(f"loop{loop}:")
        self.add(f"%i{loop} = phi i64 [ 0, %{before} ], [ %next{loop}, %end{loop} ]")

    def close(self, loop: int) -> None:
        after = f"end{loop - 1}" if loop else "done"
        self.lines.append(f"end{loop}:")
        self.add(f"%next{loop} = add i64 %i{loop}, 1")
        self.add(f"%more{loop} = icmp ult i64 %next{loop}, {self._extents[loop]}")
        self.add(f"br i1 %more{loop}, label %loop{loop}, label %{after}")

    def within(self, loop: int, pack: int) -> str:
        """The place in a pack whose even elements come before its odd ones."""
        half = pack // 2
        self.add(f"%odd{loop} = icmp uge i64 %i{loop}, {half}")
        self.add(f"%back{loop} = select i1 %odd{loop}, i64 {half}, i64 0")
        self.add(f"%half{loop} = sub i64 %i{loop}, %back{loop}")
        self.add(f"%twice{loop} = shl i64 %half{loop}, 1")
        self.add(f"%one{loop} = zext i1 %odd{loop} to i64")
        self.add(f"%within{loop} = add i64 %twice{loop}, %one{loop}")
        return f"%within{loop}"

    def logical(self, dim: int) -> str:
        """The index along a logical dimension."""
        layout = self._operand.layout
        index = f"%at{dim}"
        for loop, physical in enumerate(layout.dims):
            if physical.dim == dim and not physical.pack:
                self.add(f"%at{dim} = mul i64 %i{loop}, {layout.pack(dim)}")
            elif physical.dim == dim:  # a pack comes within its dimension
                inner = f"%i{loop}"
                if physical.odd_even:
                    inner = self.within(loop, physical.pack)
                index = f"%index{dim}"
                self.add(f"{index} = add i64 %at{dim}, {inner}")
        return index

    def offset(self, values: list[str], strides: list[str], name: str) -> str:
        """The sum of indices times strides."""
        total = "0"
        for number, (value, stride) in enumerate(zip(values, strides, strict=True)):
            self.add(f"%{name}.by{number} = mul i64 {value}, {stride}")
            self.add(f"%{name}.to{number} = add i64 {total}, %{name}.by{number}")
            total = f"%{name}.to{number}"
        return total


def _strides(shape: tuple[int, ...]) -> tuple[str, str]:
    """Loads of the strides that are given, and the choice of these or row-major's."""
    reads, phis = [], []
    for dim in range(len(shape)):
        plain = math.prod(shape[dim + 1 :])
        name = _STRIDE.format(dim=dim)
        reads.append(f"  {name}.at = getelementptr i64, ptr %strides, i64 {dim}")
        reads.append(f"  {name}.given = load i64, ptr {name}.at")
        phis.append(f"  {name} = phi i64 [ {plain}, %entry ], [ {name}.given, %given ]")
    return "\n".join(reads), "\n".join(phis)


def pack_function(name: str, operand: Packable) -> str:
    """LLVM IR of ``void NAME_pack_OPERAND(from, strides, to)``.

    ``from`` is the first element of the weights, ``strides`` the elements from one
    index to the next along each logical dimension, or null where the weights lie
    row-major, and ``to`` the packed array.

    Args:
        name: of the kernel in C.
        operand: it.
    """
    rank, layout = operand.layout.rank, operand.layout
    kind = f"i{8 * operand.itemsize}"
    writer = _Writer(operand)
    for loop in range(len(layout.dims)):
        writer.open(loop)
    indices = [writer.logical(dim) for dim in range(rank)]
    loops = [f"%i{loop}" for loop in range(len(layout.dims))]
    to = writer.offset(loops, [str(stride) for stride in operand.strides], "to")
    writer.add(f"%place = getelementptr {kind}, ptr %to, i64 {to}")
    inside = "true"
    for dim, index in enumerate(indices):
        if operand.shape[dim] % layout.pack(dim):
            writer.add(f"%fits{dim} = icmp ult i64 {index}, {operand.shape[dim]}")
            writer.add(f"%inside{dim} = and i1 {inside}, %fits{dim}")
            inside = f"%inside{dim}"
    last = len(layout.dims) - 1
    writer.add(f"br i1 {inside}, label %copy, label %pad")
    writer.lines.append("copy:")
    strides = [_STRIDE.format(dim=dim) for dim in range(rank)]
    start = writer.offset(indices, strides, "from")
    writer.add(f"%source = getelementptr {kind}, ptr %from, i64 {start}")
    writer.add(f"%element = load {kind}, ptr %source, align {operand.itemsize}")
    writer.add(f"store {kind} %element, ptr %place, align {operand.itemsize}")
    writer.add(f"br label %end{last}")
    writer.lines.append("pad:")
    writer.add(f"store {kind} 0, ptr %place, align {operand.itemsize}")
    writer.add(f"br label %end{last}")
    for loop in reversed(range(len(layout.dims))):
        writer.close(loop)
    reads, phis = _strides(operand.shape)
    body, packs = "\n".join(writer.lines), pack_name(name, operand.name)
    return f"""
define void @{packs}(ptr %from, ptr %strides, ptr %to) {HOST.base_attributes} {{
entry:
  %row.major = icmp eq ptr %strides, null
  br i1 %row.major, label %start, label %given
given:
{reads}
  br label %start
start:
{phis}
{body}
done:
  ret void
}}
"""

"""The functions around a kernel that is linked into C programs, as LLVM IR."""

import dataclasses
import enum
import itertools
import math
import re
from collections.abc import Iterable, Sequence

from morello.machine.architectures import HOST
from morello.runtime.calls.call_size import call_sizes
from morello.runtime.calls.call_table import ALIGNMENT
from morello.runtime.calls.glue import FOLDER
from morello.runtime.calls.parameter import Parameter, SizeAxis
from morello.spec import Layout
from morello.spec.spec import MOST_RANGES

_BASE = HOST.base_attributes
"""Attributes of functions that run before the CPU is checked."""

_CHECK, _CHECK_CPU, _PACK = "@check.entry", "@check.cpu", "@pack.elements"
"""The functions of C that they call, by names that no function of C has."""


class Status(enum.IntEnum):
    """The results of the checked function."""

    OK = 0
    UNSUPPORTED = 1
    """The CPU lacks a feature."""
    NULL = 2
    MISALIGNED = 3
    OVERLAP = 4
    NO_MEMORY = 5
    """The function takes its workspace from ``malloc``, and gets none."""
    SHORT_ROW = 6
    """The elements from row to row that are given are fewer than a row has, or too many
    to be addressed."""
    SIZE = 7
    """The size that is given is not in the range."""


def unchecked_name(name: str) -> str:
    """The name of the kernel itself."""
    return f"{name}_unchecked"


def supported_name(name: str) -> str:
    """The name of the function that checks the CPU."""
    return f"{name}_supported"


def rename(llvm: str, old: str, new: str) -> str:
    """A module whose kernel, and what LLVM named after it, has another name."""
    return re.sub(rf"@{re.escape(old)}(?=[(.])", f"@{new}", llvm)


def called() -> str:
    """LLVM IR of the functions of C that those of all kernels of an object call."""
    entry = _internal_function("entry", "@check_entry", _CHECK).replace(
        f"{_BASE} {{", f"{_BASE} alwaysinline {{"
    )
    cpu = _internal_function(HOST.names[0], "@check_cpu", _CHECK_CPU)
    return "\n".join([entry, cpu, _internal_function("pack", "@pack", _PACK)])


def _internal_function(file: str, name: str, internal: str) -> str:
    """The function in a file, under a name that other objects do not see."""
    text = (FOLDER / f"{file}.ll").read_text().replace(f"{name}(", f"{internal}(")
    inside = rf"define internal \1 {_BASE} {{"
    return re.sub(r"^define (.*) \{$", inside, text, flags=re.MULTILINE)


def cpu_check(name: str, features: frozenset[str]) -> str:
    """LLVM IR of ``i32 @name()``: 1 where the CPU has all features, else 0.

    It may be called from any thread.

    Raises:
        CompileError: a feature that a program cannot ask for.
    """
    needs = HOST.needs(features)
    words = ", ".join(f"i32 {word}" for word in needs)
    return f"""
@{name}.answer = internal global i32 0
@{name}.needs = internal constant [{len(needs)} x i32] [{words}]

define i32 @{name}() {_BASE} {{
  %answer = call i32 {_CHECK_CPU}(ptr @{name}.answer, ptr @{name}.needs)
  ret i32 %answer
}}
"""


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

    @property
    def dims(self) -> list[int]:
        """The words of each ``Dim`` that ``pack.c`` reads."""
        sizes = enumerate(self.shape)
        return [w for i, n in sizes for w in (n, math.prod(self.shape[i + 1 :]))]

    @property
    def loops(self) -> list[int]:
        """The words of each ``Loop`` that ``pack.c`` reads."""
        extents = self.layout.physical_shape(self.shape)
        words = []
        for loop_dim, extent, stride in zip(
            self.layout.dims, extents, self.strides, strict=True
        ):
            step = 1 if loop_dim.pack else self.layout.pack(loop_dim.dim)
            half = loop_dim.pack // 2 if loop_dim.odd_even else 0
            words += [extent, stride, loop_dim.dim, step, half]
        return words


def pack_function(name: str, operand: Packable) -> str:
    """LLVM IR of ``void NAME_pack_OPERAND(from, strides, to)``.

    ``from`` is the first element of the weights, ``strides`` the elements from one
    index to the next along each logical dimension, or null where the weights lie
    row-major, and ``to`` the packed array, every element of which is written.

    Args:
        name: of the kernel in C.
        operand: it.
    """
    function = pack_name(name, operand.name)
    return f"""
@{function}.dims = internal constant {_words(operand.dims)}
@{function}.loops = internal constant {_words(operand.loops)}

define void @{function}(ptr %from, ptr %strides, ptr %to) {_BASE} {{
  call void {_PACK}(
      ptr @{function}.dims, i64 {len(operand.shape)},
      ptr @{function}.loops, i64 {len(operand.strides)}, i64 {operand.itemsize},
      ptr %from, ptr %strides, ptr %to)
  ret void
}}
"""


def _words(numbers: Iterable[int]) -> str:
    """A constant array."""
    words = list(numbers)
    return f"[{len(words)} x i64] [{', '.join(f'i64 {int(word)}' for word in words)}]"


def _memory(parameter: Parameter) -> list[int]:
    """Words of the struct ``Memory`` that ``entry.c`` reads."""
    size = parameter.dtype.itemsize
    row, apart = parameter.row if parameter.strides else (0, 0)
    if parameter.any_row:
        apart = 0
    numbers = [axis.number for axis in parameter.sizes for _ in axis.axes]
    return [
        *(parameter.size_bytes or parameter.nbytes, size, row, apart, size),
        *(parameter.rows - 1, parameter.is_output),
        *(numbers.count(number) for number in range(MOST_RANGES)),
    ]


def entry_points(
    name: str,
    parameters: Sequence[Parameter],
    workspace_bytes: int,
    features: frozenset[str],
) -> str:
    """LLVM IR of the checked function and of the CPU check.

    Args:
        name: of the checked function.
        parameters: of the kernel, inputs first.
        workspace_bytes: 0 where the kernel takes no workspace.
        features: that the kernel needs, as LLVM spells them.

    Raises:
        CompileError: a feature that no test is known for.
    """
    checked = _checked(name, parameters, workspace_bytes)
    return f"{checked}\n{cpu_check(supported_name(name), features)}"


def sizes_of(parameters: Sequence[Parameter]) -> tuple[SizeAxis, ...]:
    """The sizes that a call says."""
    sizes = call_sizes(tuple(parameters))
    return () if sizes is None else sizes.axes


def declaration(name: str, parameters: Sequence[Parameter], workspace: bool) -> str:
    """LLVM IR that declares a kernel of another module."""
    types = ["ptr"] * (len(parameters) + workspace)
    types += ["i64"] * len(_numbers(parameters))
    return f"declare void @{name}({', '.join(types)})"


def variant_name(name: str, number: int) -> str:
    """The name of one of several kernels."""
    return f"{name}.variant{number}"


def dispatching_entry_points(
    name: str,
    parameters: Sequence[Parameter],
    workspace_bytes: int,
    variants: Sequence[tuple[frozenset[str], bool]],
) -> str:
    """Emit the entry points of several kernels: the first that the CPU supports
    runs.

    Args:
        name: as for `entry_points`; the kernels are called `variant_name`.
        parameters: as for `entry_points`.
        workspace_bytes: the most that one of them takes.
        variants: of each kernel the features that it needs, and whether it takes a
            workspace.

    Raises:
        CompileError: a feature that no test is known for.
    """
    declared, checks, asked, tried = [], [], [], []
    for number, (features, takes_workspace) in enumerate(variants):
        kernel = variant_name(name, number)
        asks = f"{kernel}.supported"
        check = cpu_check(asks, features)
        checks.append(check.replace("define i32", "define internal i32"))
        asked.append(
            f"  %has{number} = call i32 @{asks}()\n"
            f"  %some{number} = or i32 "
            f"{f'%some{number - 1}' if number else '0'}, %has{number}"
        )
        arguments = _arguments(parameters, takes_workspace)
        declared.append(declaration(kernel, parameters, takes_workspace))
        run = f"  call void @{kernel}({arguments})\n  ret void"
        if number + 1 < len(variants):
            run = (
                f"  %has{number} = call i32 @{asks}()\n"
                f"  switch i32 %has{number}, label %run{number} "
                f"[i32 0, label %other{number}]\n"
                f"run{number}:\n{run}\nother{number}:"
            )
        tried.append(run)
    asking, running = "\n".join(asked), "\n".join(tried)
    return "\n".join(
        [
            *declared,
            _checked(name, parameters, workspace_bytes),
            *checks,
            f"define i32 @{supported_name(name)}() {_BASE} {{\n{asking}\n"
            f"  ret i32 %some{len(variants) - 1}\n}}",
            f"define void @{unchecked_name(name)}("
            f"{_arguments(parameters, workspace_bytes > 0)}) {_BASE} {{\n{running}\n}}",
        ]
    )


def _arguments(parameters: Sequence[Parameter], workspace: bool) -> str:
    """The arguments of a kernel."""
    arguments = [f"array{i}" for i in range(len(parameters))]
    arguments += ["workspace"] * workspace
    pointers = [f"ptr %{argument}" for argument in arguments]
    return ", ".join([*pointers, *(f"i64 %{n}" for n in _numbers(parameters))])


def _numbers(parameters: Sequence[Parameter]) -> list[str]:
    """The names of the sizes that a call says, then of its distances of rows."""
    sizes = [f"size{axis.number}" for axis in sizes_of(parameters)]
    rows = [f"array{i}.row" for i, each in enumerate(parameters) if each.any_row]
    return sizes + rows


def _checked(name: str, parameters: Sequence[Parameter], workspace_bytes: int) -> str:
    """The checked function."""
    memories = [_memory(parameter) for parameter in parameters]
    pointers = [f"array{i}" for i in range(len(parameters))]
    if workspace_bytes:
        memories.append([workspace_bytes, ALIGNMENT, 0, 0, 1, 0, 1, 0, 0])
        pointers.append("workspace")
    axes, numbers = sizes_of(parameters), _numbers(parameters)
    arguments = _arguments(parameters, workspace_bytes > 0)
    return f"""
@{name}.memories = internal constant {_words(itertools.chain(*memories))}
@{name}.ranges = internal constant {_words(itertools.chain(*map(_range, axes)))}

define i32 @{name}({arguments}) {_BASE} {{
  %starts = alloca [{len(pointers)} x ptr]
  %numbers = alloca [{len(numbers)} x i64]
{_stores("ptr", pointers, "starts")}
{_stores("i64", numbers, "numbers")}
  %status = call i32 {_CHECK}(
      ptr @{supported_name(name)}, ptr @{name}.memories, i64 {len(pointers)},
      ptr %starts, ptr @{name}.ranges, i64 {len(axes)}, ptr %numbers)
  switch i32 %status, label %refused [i32 {Status.OK.value}, label %run]
run:
  call void @{unchecked_name(name)}({arguments})
  ret i32 {Status.OK.value}
refused:
  ret i32 %status
}}"""


def _range(axis: SizeAxis) -> list[int]:
    """Words of the struct ``Range`` that ``entry.c`` reads."""
    return [axis.sizes[0], axis.sizes.step, axis.sizes[-1]]


def _stores(kind: str, values: Sequence[str], to: str) -> str:
    """Stores of values one after the other."""
    return "\n".join(
        f"  %{value}.at = getelementptr {kind}, ptr %{to}, i64 {place}\n"
        f"  store {kind} %{value}, ptr %{value}.at"
        for place, value in enumerate(values)
    )

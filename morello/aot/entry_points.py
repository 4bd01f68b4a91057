"""The functions around a kernel that is linked into C programs, as LLVM IR."""

import dataclasses
import enum
import re
from collections.abc import Sequence

from morello.machine.architectures import HOST
from morello.runtime.calls.call_table import ALIGNMENT
from morello.runtime.calls.parameter import Parameter

_BASE = HOST.base_attributes
"""Attributes of functions that run before the CPU is checked."""


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
    """The elements from row to row that are given are fewer than a row has."""


def unchecked_name(name: str) -> str:
    """The name of the kernel itself."""
    return f"{name}_unchecked"


def supported_name(name: str) -> str:
    """The name of the function that checks the CPU."""
    return f"{name}_supported"


def rename(llvm: str, old: str, new: str) -> str:
    """A module whose kernel, and what LLVM named after it, has another name."""
    return re.sub(rf"@{re.escape(old)}(?=[(.])", f"@{new}", llvm)


def _refuse(label: str, value: str, status: Status, blocks: list[str]) -> None:
    """Go on to ``label`` unless ``value`` is true; then return ``status``."""
    blocks.append(f"  br i1 {value}, label %{status.name}, label %{label}")
    blocks.append(f"{label}:")


def _pointers(arguments: Sequence[str], alignments: Sequence[int]) -> list[str]:
    """Blocks that refuse pointers that are null, or misaligned."""
    blocks: list[str] = []
    for name, alignment in zip(arguments, alignments, strict=True):
        blocks.append(f"  %{name}.null = icmp eq ptr %{name}, null")
        _refuse(f"{name}.given", f"%{name}.null", Status.NULL, blocks)
        blocks.append(f"  %{name}.number = ptrtoint ptr %{name} to i64")
        blocks.append(f"  %{name}.low = and i64 %{name}.number, {alignment - 1}")
        blocks.append(f"  %{name}.odd = icmp ne i64 %{name}.low, 0")
        _refuse(f"{name}.aligned", f"%{name}.odd", Status.MISALIGNED, blocks)
    return blocks


@dataclasses.dataclass(frozen=True)
class _Memory:
    """Memory that an argument covers.

    Args:
        name: of the argument.
        size: its bytes, gaps included: a number, or a value of LLVM IR.
        row: the bytes of a row; 0 where rows have no gaps.
        apart: the bytes from row to row: a number, or a value of LLVM IR.
    """

    name: str
    size: int | str
    row: int = 0
    apart: int | str = 0


def _memory(name: str, parameter: Parameter) -> _Memory:
    """Find the memory that an array covers; `_row_sizes` has the values of LLVM IR."""
    if parameter.any_row:
        row, apart = parameter.row[0], f"%{name}.apart"
        return _Memory(name, f"%{name}.bytes", row, apart)
    if parameter.strides:
        return _Memory(name, parameter.nbytes, *parameter.row)
    return _Memory(name, parameter.nbytes)


def _row_sizes(name: str, parameter: Parameter) -> list[str]:
    """Blocks that refuse rows that would overlap, and count the bytes of others."""
    whole, size = parameter.shape[-1], parameter.dtype.itemsize
    blocks = [f"  %{name}.short = icmp slt i64 %{name}.row, {whole}"]
    _refuse(f"{name}.long", f"%{name}.short", Status.SHORT_ROW, blocks)
    return [
        *blocks,
        f"  %{name}.apart = mul i64 %{name}.row, {size}",
        f"  %{name}.more = mul i64 %{name}.apart, {parameter.rows - 1}",
        f"  %{name}.bytes = add i64 %{name}.more, {whole * size}",
    ]


def _may_interleave(one: _Memory, other: _Memory) -> bool:
    """Whether rows of one may lie in the gaps of the other, for some distance."""
    if not one.row or not other.row:
        return False
    if isinstance(one.apart, int) and isinstance(other.apart, int):
        return one.apart == other.apart >= one.row + other.row
    return True


def _no_overlap(one: _Memory, other: _Memory) -> list[str]:
    """Blocks that refuse two arguments that share bytes.

    Rows of one may lie in the gaps of the other where both have them equally far apart.
    """
    pair = f"{one.name}.{other.name}"
    blocks = [
        f"  %{pair}.end = getelementptr i8, ptr %{one.name}, i64 {one.size}",
        f"  %{pair}.other = getelementptr i8, ptr %{other.name}, i64 {other.size}",
        f"  %{pair}.before = icmp ult ptr %{one.name}, %{pair}.other",
        f"  %{pair}.within = icmp ult ptr %{other.name}, %{pair}.end",
        f"  %{pair}.both = and i1 %{pair}.before, %{pair}.within",
    ]
    shared = f"{pair}.both"
    if _may_interleave(one, other):
        shared, apart = f"{pair}.shared", one.apart
        blocks += [
            f"  %{pair}.distance = sub i64 %{other.name}.number, %{one.name}.number",
            f"  %{pair}.signed = srem i64 %{pair}.distance, {apart}",
            f"  %{pair}.positive = add i64 %{pair}.signed, {apart}",
            f"  %{pair}.offset = urem i64 %{pair}.positive, {apart}",
            f"  %{pair}.low = icmp ult i64 %{pair}.offset, {one.row}",
            f"  %{pair}.after = add i64 %{pair}.offset, {other.row}",
            f"  %{pair}.high = icmp ugt i64 %{pair}.after, {apart}",
            f"  %{pair}.meet = or i1 %{pair}.low, %{pair}.high",
            f"  %{pair}.unlike = icmp ne i64 {apart}, {other.apart}",
            f"  %{pair}.any = or i1 %{pair}.meet, %{pair}.unlike",
            f"  %{shared} = and i1 %{pair}.both, %{pair}.any",
        ]
    _refuse(f"{pair}.disjoint", f"%{shared}", Status.OVERLAP, blocks)
    return blocks


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
    return f"{checked}\n{HOST.cpu_check(supported_name(name), features)}"


def declaration(name: str, parameters: Sequence[Parameter], workspace: bool) -> str:
    """LLVM IR that declares a kernel of another module."""
    rows = [parameter for parameter in parameters if parameter.any_row]
    types = ["ptr"] * (len(parameters) + workspace) + ["i64"] * len(rows)
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
        checks.append(_internal(HOST.cpu_check(asks, features)))
        asked.append(
            f"  %has{number} = call i32 @{asks}()\n"
            f"  %some{number} = or i32 "
            f"{f'%some{number - 1}' if number else '0'}, %has{number}"
        )
        given = _given(parameters, takes_workspace)
        declared.append(declaration(kernel, parameters, takes_workspace))
        run = f"  call void @{kernel}({given})\n  ret void"
        if number + 1 < len(variants):
            run = (
                f"  %has{number} = call i32 @{asks}()\n"
                f"  %is{number} = icmp ne i32 %has{number}, 0\n"
                f"  br i1 %is{number}, label %run{number}, label %other{number}\n"
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
            f"{_given(parameters, workspace_bytes > 0)}) {_BASE} {{\n{running}\n}}",
        ]
    )


def _internal(definition: str) -> str:
    """A definition that other objects do not see."""
    return definition.replace("define i32", "define internal i32")


def _given(parameters: Sequence[Parameter], workspace: bool) -> str:
    """The arguments of a kernel."""
    arguments = [f"array{i}" for i in range(len(parameters))]
    arguments += ["workspace"] * workspace
    rows = [f"array{i}.row" for i, each in enumerate(parameters) if each.any_row]
    given = [f"ptr %{argument}" for argument in arguments]
    return ", ".join([*given, *(f"i64 %{row}" for row in rows)])


def _checked(name: str, parameters: Sequence[Parameter], workspace_bytes: int) -> str:
    """The checked function."""
    arguments = [f"array{i}" for i in range(len(parameters))]
    alignments = [parameter.dtype.itemsize for parameter in parameters]
    memories = list(map(_memory, arguments, parameters))
    written = [i for i, parameter in enumerate(parameters) if parameter.is_output]
    if workspace_bytes:
        arguments.append("workspace")
        alignments.append(ALIGNMENT)
        memories.append(_Memory("workspace", workspace_bytes))
        written.append(len(parameters))
    blocks = _pointers(arguments, alignments)
    statuses = [Status.UNSUPPORTED, Status.NULL, Status.MISALIGNED, Status.OVERLAP]
    for argument, parameter in zip(arguments, parameters, strict=False):
        if parameter.any_row:
            blocks += _row_sizes(argument, parameter)
            statuses = [*statuses[:4], Status.SHORT_ROW]
    for i in written:
        for j in range(i):
            blocks += _no_overlap(memories[i], memories[j])
    given = _given(parameters, workspace_bytes > 0)
    refusals = "\n".join(
        f"{status.name}:\n  ret i32 {status.value}" for status in statuses
    )
    checks = "\n".join(blocks)
    asks = supported_name(name)
    return f"""
define i32 @{name}({given}) {_BASE} {{
  %known = call i32 @{asks}()
  %supported = icmp ne i32 %known, 0
  br i1 %supported, label %checks, label %UNSUPPORTED
checks:
{checks}
  call void @{unchecked_name(name)}({given})
  ret i32 {Status.OK.value}
{refusals}
}}"""

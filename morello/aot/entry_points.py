"""The functions around a kernel that is linked into C programs, as LLVM IR."""

import enum
import re
from collections.abc import Sequence

from morello.aot.cpu_check import BASE_CPU, cpu_check
from morello.runtime.call_table import ALIGNMENT
from morello.runtime.parameter import Parameter, may_interleave


class Status(enum.IntEnum):
    """The results of the checked function."""

    OK = 0
    UNSUPPORTED = 1
    """The CPU lacks a feature."""
    NULL = 2
    MISALIGNED = 3
    OVERLAP = 4
    NO_MEMORY = 5
    """Of the function that takes its workspace from ``malloc``."""


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


def _no_overlap(
    one: str, size: int, other: str, other_size: int, rows: tuple[int, int, int] | None
) -> list[str]:
    """Blocks that refuse two arrays that share bytes.

    Args:
        one, other: their names.
        size, other_size: their bytes, gaps included.
        rows: the bytes of a row of each, and from row to row of both, if the rows of
            one may lie in the gaps of the other.
    """
    pair = f"{one}.{other}"
    blocks = [
        f"  %{pair}.end = getelementptr i8, ptr %{one}, i64 {size}",
        f"  %{pair}.other = getelementptr i8, ptr %{other}, i64 {other_size}",
        f"  %{pair}.before = icmp ult ptr %{one}, %{pair}.other",
        f"  %{pair}.within = icmp ult ptr %{other}, %{pair}.end",
        f"  %{pair}.both = and i1 %{pair}.before, %{pair}.within",
    ]
    if rows is None:
        shared = f"{pair}.both"
    else:
        row, other_row, apart = rows
        shared = f"{pair}.shared"
        blocks += [
            f"  %{pair}.distance = sub i64 %{other}.number, %{one}.number",
            f"  %{pair}.signed = srem i64 %{pair}.distance, {apart}",
            f"  %{pair}.positive = add i64 %{pair}.signed, {apart}",
            f"  %{pair}.offset = urem i64 %{pair}.positive, {apart}",
            f"  %{pair}.low = icmp ult i64 %{pair}.offset, {row}",
            f"  %{pair}.high = icmp ugt i64 %{pair}.offset, {apart - other_row}",
            f"  %{pair}.meet = or i1 %{pair}.low, %{pair}.high",
            f"  %{shared} = and i1 %{pair}.both, %{pair}.meet",
        ]
    _refuse(f"{pair}.disjoint", f"%{shared}", Status.OVERLAP, blocks)
    return blocks


def _rows(
    parameters: Sequence[Parameter], one: int, other: int
) -> tuple[int, int, int] | None:
    """What `_no_overlap` takes; the workspace comes after the parameters."""
    if max(one, other) >= len(parameters):
        return None
    first, second = parameters[one], parameters[other]
    apart = may_interleave(first, second)
    return (first.row[0], second.row[0], apart) if apart else None


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


def declaration(name: str, parameters: Sequence[Parameter], workspace: bool) -> str:
    """LLVM IR that declares a kernel of another module."""
    types = ", ".join(["ptr"] * (len(parameters) + workspace))
    return f"declare void @{name}({types})"


def variant_name(name: str, number: int) -> str:
    """The name of one of several kernels."""
    return f"{name}.variant{number}"


def dispatching_entry_points(
    name: str,
    parameters: Sequence[Parameter],
    workspace_bytes: int,
    variants: Sequence[tuple[frozenset[str], bool]],
) -> str:
    """The same of several kernels: of those that the CPU can run the first one runs.

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
        checks.append(_internal(cpu_check(asks, features)))
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
            f"define i32 @{supported_name(name)}() {BASE_CPU} {{\n{asking}\n"
            f"  ret i32 %some{len(variants) - 1}\n}}",
            f"define void @{unchecked_name(name)}("
            f"{_given(parameters, workspace_bytes > 0)}) {BASE_CPU} {{\n{running}\n}}",
        ]
    )


def _internal(definition: str) -> str:
    """A definition that other objects do not see."""
    return definition.replace("define i32", "define internal i32")


def _given(parameters: Sequence[Parameter], workspace: bool) -> str:
    """The arguments of a kernel."""
    arguments = [f"array{i}" for i in range(len(parameters))]
    arguments += ["workspace"] * workspace
    return ", ".join(f"ptr %{argument}" for argument in arguments)


def _checked(name: str, parameters: Sequence[Parameter], workspace_bytes: int) -> str:
    """The checked function."""
    arguments = [f"array{i}" for i in range(len(parameters))]
    alignments = [parameter.dtype.itemsize for parameter in parameters]
    sizes = [parameter.nbytes for parameter in parameters]
    written = [i for i, parameter in enumerate(parameters) if parameter.is_output]
    if workspace_bytes:
        arguments.append("workspace")
        alignments.append(ALIGNMENT)
        sizes.append(workspace_bytes)
        written.append(len(parameters))
    blocks = _pointers(arguments, alignments)
    for i in written:
        for j in range(i):
            blocks += _no_overlap(
                arguments[i], sizes[i], arguments[j], sizes[j], _rows(parameters, i, j)
            )
    given = _given(parameters, workspace_bytes > 0)
    refusals = "\n".join(
        f"{status.name}:\n  ret i32 {status.value}"
        for status in (
            Status.UNSUPPORTED,
            Status.NULL,
            Status.MISALIGNED,
            Status.OVERLAP,
        )
    )
    checks = "\n".join(blocks)
    asks = supported_name(name)
    return f"""
define i32 @{name}({given}) {BASE_CPU} {{
  %known = call i32 @{asks}()
  %supported = icmp ne i32 %known, 0
  br i1 %supported, label %checks, label %UNSUPPORTED
checks:
{checks}
  call void @{unchecked_name(name)}({given})
  ret i32 {Status.OK.value}
{refusals}
}}"""

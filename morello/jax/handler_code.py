"""LLVM IR of the function that XLA calls for a kernel: checks, then the kernel.

XLA's foreign functions have a binary interface of C (``xla/ffi/api/c_api.h`` of jaxlib,
version 0.3): a function takes a call frame, and answers with null or an error, which
XLA's own ``Error_Create`` makes. The structures below are those of that file.

`handler_module` is the entry point. Two functions come out: ``attach(table)`` tells the
module the table of its native function (`morello.runtime.call_table`), and ``handler``
is what XLA calls. XLA runs it without Python's lock, from any thread, and from several
at a time.
"""

import enum
from collections.abc import Sequence

from morello.errors import CompileError
from morello.runtime.call_table import Word
from morello.runtime.element_types import element_type_of, names
from morello.runtime.parameter import Parameter
from morello.runtime.shared_code import call_in_team, fill, teams, workspaces

API_VERSION = (0, 3)
"""Of the interface that the handler is written for."""


class _Code(enum.IntEnum):
    """``XLA_FFI_Error_Code``."""

    INVALID_ARGUMENT = 3
    RESOURCE_EXHAUSTED = 8


_TYPES = """
%Extension = type { i64, i32, ptr }
%Version = type { i64, ptr, i32, i32 }
%Metadata = type { i64, %Version, i32 }
%MetadataExtension = type { %Extension, ptr }
%Api = type { i64, ptr, %Version, ptr, ptr }
%ErrorArgs = type { i64, ptr, ptr, i32 }
%Buffer = type { i64, ptr, i32, ptr, i64, ptr }
%Buffers = type { i64, ptr, i64, ptr, ptr }
%Frame = type { i64, ptr, ptr, ptr, i32, %Buffers, %Buffers }

@table = internal global ptr null

declare ptr @aligned_alloc(i64, i64)
declare i32 @madvise(ptr, i64, i32)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)

define internal ptr @field(ptr %object, i64 %offset) alwaysinline {
  %place = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %place
  ret ptr %value
}

define void @attach(ptr %table) {
  store ptr %table, ptr @table
  ret void
}

define internal ptr @refuse(ptr %frame, ptr %text, i32 %code) {
  %args = alloca %ErrorArgs
  %text.at = getelementptr %ErrorArgs, ptr %args, i32 0, i32 2
  %code.at = getelementptr %ErrorArgs, ptr %args, i32 0, i32 3
  store %ErrorArgs { i64 28, ptr null, ptr null, i32 0 }, ptr %args
  store ptr %text, ptr %text.at
  store i32 %code, ptr %code.at
  %api.at = getelementptr %Frame, ptr %frame, i32 0, i32 2
  %api = load ptr, ptr %api.at
  %create.at = getelementptr %Api, ptr %api, i32 0, i32 4
  %create = load ptr, ptr %create.at
  %error = call ptr %create(ptr %args)
  ret ptr %error
}
"""

_FITS = """
define internal i1 @fits(ptr %buffer, i32 %dtype, ptr %forms) {
entry:
  %dtype.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 2
  %given = load i32, ptr %dtype.at
  %rank.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 4
  %rank = load i64, ptr %rank.at
  %dims.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 5
  %dims = load ptr, ptr %dims.at
  %count = load i64, ptr %forms
  %first = getelementptr i64, ptr %forms, i64 1
  %known = icmp eq i32 %given, %dtype
  br i1 %known, label %form, label %no
form:
  %at = phi ptr [ %first, %entry ], [ %after, %next ]
  %left = phi i64 [ %count, %entry ], [ %fewer, %next ]
  %wanted = load i64, ptr %at
  %sizes = getelementptr i64, ptr %at, i64 1
  %after = getelementptr i64, ptr %sizes, i64 %wanted
  %same = icmp eq i64 %rank, %wanted
  br i1 %same, label %dimension, label %next
dimension:
  %i = phi i64 [ 0, %form ], [ %more, %equal ]
  %end = icmp eq i64 %i, %rank
  br i1 %end, label %yes, label %compare
compare:
  %x.at = getelementptr i64, ptr %dims, i64 %i
  %y.at = getelementptr i64, ptr %sizes, i64 %i
  %x = load i64, ptr %x.at
  %y = load i64, ptr %y.at
  %match = icmp eq i64 %x, %y
  br i1 %match, label %equal, label %next
equal:
  %more = add i64 %i, 1
  br label %dimension
next:
  %fewer = sub i64 %left, 1
  %none = icmp eq i64 %fewer, 0
  br i1 %none, label %no, label %form
yes:
  ret i1 true
no:
  ret i1 false
}
"""
"""``forms`` is how many shapes there are, and for each its rank and its sizes."""

_HANDLER = """
define ptr @handler(ptr %frame) {
entry:
  %extension.at = getelementptr %Frame, ptr %frame, i32 0, i32 1
  br label %look
look:
  %at = phi ptr [ %extension.at, %entry ], [ %next.at, %other ]
  %extension = load ptr, ptr %at
  %none = icmp eq ptr %extension, null
  br i1 %none, label %counts, label %extended
extended:
  %kind.at = getelementptr %Extension, ptr %extension, i32 0, i32 1
  %kind = load i32, ptr %kind.at
  %asks = icmp eq i32 %kind, 1
  br i1 %asks, label %metadata, label %other
other:
  %next.at = getelementptr %Extension, ptr %extension, i32 0, i32 2
  br label %look
metadata:
  %metadata.at = getelementptr %MetadataExtension, ptr %extension, i32 0, i32 1
  %answer = load ptr, ptr %metadata.at
  %major.at = getelementptr %Metadata, ptr %answer, i32 0, i32 1, i32 2
  %minor.at = getelementptr %Metadata, ptr %answer, i32 0, i32 1, i32 3
  %traits.at = getelementptr %Metadata, ptr %answer, i32 0, i32 2
  store i32 {major}, ptr %major.at
  store i32 {minor}, ptr %minor.at
  store i32 0, ptr %traits.at
  ret ptr null
counts:
  %args = getelementptr %Frame, ptr %frame, i32 0, i32 5
  %rets = getelementptr %Frame, ptr %frame, i32 0, i32 6
  %given.at = getelementptr %Buffers, ptr %args, i32 0, i32 2
  %given = load i64, ptr %given.at
  %wanted.at = getelementptr %Buffers, ptr %rets, i32 0, i32 2
  %wanted = load i64, ptr %wanted.at
  %given.fits = icmp eq i64 %given, {inputs}
  %wanted.fits = icmp eq i64 %wanted, {outputs}
  %counts.fit = and i1 %given.fits, %wanted.fits
  %inputs.at = getelementptr %Buffers, ptr %args, i32 0, i32 4
  %inputs = load ptr, ptr %inputs.at
  %outputs.at = getelementptr %Buffers, ptr %rets, i32 0, i32 4
  %outputs = load ptr, ptr %outputs.at
  br i1 %counts.fit, label %check0, label %wrong
wrong:
  %error = call ptr @refuse(ptr %frame, ptr @counts, i32 {invalid})
  ret ptr %error
{checks}
run:
  %table = load ptr, ptr @table
  %native = call ptr @field(ptr %table, i64 {native})
{copies}
{take}
{call}
{give}
  ret ptr null
{failed}
}
"""

_CHECK = """
check{i}:
  %b{i}.at = getelementptr ptr, ptr %{side}, i64 {place}
  %b{i} = load ptr, ptr %b{i}.at
  %fits{i} = call i1 @fits(ptr %b{i}, i32 {dtype}, ptr @forms{i})
  %d{i}.at = getelementptr %Buffer, ptr %b{i}, i32 0, i32 3
  %d{i} = load ptr, ptr %d{i}.at
  br i1 %fits{i}, label %{after}, label %wrong{i}
wrong{i}:
  %error{i} = call ptr @refuse(ptr %frame, ptr @text{i}, i32 {invalid})
  ret ptr %error{i}"""
"""All arguments and results are buffers: XLA's interface has no other kind."""

_COPY = """\
  %same{i} = icmp eq ptr %d{i}, %d{out}
  br i1 %same{i}, label %there{i}, label %copy{i}
copy{i}:
  %copied{i} = call ptr @memcpy(ptr %d{out}, ptr %d{i}, i64 {bytes})
  br label %there{i}
there{i}:"""
"""What an output that is added to holds: XLA puts it there itself where it may."""

_TAKE = """\
  %workspace = call ptr @take(ptr %table)
  %nothing.left = icmp eq ptr %workspace, null
  br i1 %nothing.left, label %failed, label %enough
enough:"""

_FAILED = """\
failed:
  %no.memory = call ptr @refuse(ptr %frame, ptr @memory, i32 {exhausted})
  ret ptr %no.memory"""


def _constant(name: str, words: Sequence[int]) -> str:
    values = ", ".join(f"i64 {word}" for word in words)
    return f"@{name} = internal constant [{len(words)} x i64] [{values}]"


def _text(name: str, text: str) -> str:
    data = text.encode() + b"\0"
    shown = "".join(f"\\{byte:02X}" for byte in data)
    return f'@{name} = internal constant [{len(data)} x i8] c"{shown}"'


def _dtype(parameter: Parameter) -> int:
    """The number that XLA has for the elements.

    Raises:
        CompileError: XLA has none.
    """
    element = element_type_of(parameter.dtype)
    if element is None:
        raise CompileError(
            f"{parameter.role} has elements of {parameter.dtype.name}, which XLA's "
            "foreign functions do not take here",
            f"use one of {names()}",
        )
    return element.xla


def wanted(parameter: Parameter, label: str) -> str:
    """A description of the argument that a parameter takes, for error messages."""
    shapes = " or ".join(map(str, parameter.shapes))
    return f"{parameter.role} of {label} is a {parameter.dtype.name} array of {shapes}"


def _forms(parameter: Parameter) -> list[int]:
    words = [len(parameter.shapes)]
    for shape in parameter.shapes:
        words += [len(shape), *shape]
    return words


def handler_module(
    label: str, parameters: Sequence[Parameter], has_workspace: bool, has_threads: bool
) -> str:
    """LLVM IR of ``handler`` and ``attach``.

    The handler's arguments are the inputs, then what the outputs that are added to
    hold; its results are the outputs.

    Args:
        label: of the kernel, for errors.
        parameters: of the native function, inputs first; none has gaps.
        has_workspace: the native function takes a workspace after the arrays.
        has_threads: the native function may use several threads.

    Raises:
        CompileError: XLA has no elements as those of a parameter.
    """
    inputs = [p for p in parameters if not p.is_output]
    outputs = [p for p in parameters if p.is_output]
    held = [p for p in outputs if p.accumulates]
    buffers = [(p, "inputs", i) for i, p in enumerate((*inputs, *held))]
    buffers += [(p, "outputs", i) for i, p in enumerate(outputs)]
    first_output = len(inputs) + len(held)
    data = [
        _text(
            "counts",
            f"morello: {label} takes {first_output} arrays and fills {len(outputs)}",
        ),
        _text("memory", f"morello: no memory for the workspace of {label}"),
    ]
    checks = []
    for i, (parameter, side, place) in enumerate(buffers):
        data.append(_constant(f"forms{i}", _forms(parameter)))
        data.append(_text(f"text{i}", f"morello: {wanted(parameter, label)}"))
        checks.append(
            fill(
                _CHECK,
                i=i,
                side=side,
                place=place,
                dtype=_dtype(parameter),
                after=f"check{i + 1}" if i + 1 < len(buffers) else "run",
                invalid=_Code.INVALID_ARGUMENT.value,
            )
        )
    copies = [
        fill(
            _COPY,
            i=len(inputs) + number,
            out=first_output + outputs.index(parameter),
            bytes=parameter.nbytes,
        )
        for number, parameter in enumerate(held)
    ]
    places = [*range(len(inputs)), *range(first_output, len(buffers))]
    pointers = [f"ptr %d{i}" for i in places] + ["ptr %workspace"] * has_workspace
    run = f"  call void %native({', '.join(pointers)})"
    text = _TYPES + "\n".join(data) + _FITS
    if has_threads:
        run = call_in_team(run)
        text += teams()
    if has_workspace:
        text += workspaces()
    return text + fill(
        _HANDLER,
        major=API_VERSION[0],
        minor=API_VERSION[1],
        inputs=first_output,
        outputs=len(outputs),
        invalid=_Code.INVALID_ARGUMENT.value,
        native=8 * Word.NATIVE,
        checks="".join(checks),
        copies="\n".join(copies),
        take=_TAKE if has_workspace else "",
        call=run,
        give="  call void @give(ptr %table, ptr %workspace)" if has_workspace else "",
        failed=fill(_FAILED, exhausted=_Code.RESOURCE_EXHAUSTED.value)
        if has_workspace
        else "",
    )

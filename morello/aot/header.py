"""The header of a kernel: the declarations that a C or C++ program needs."""

import dataclasses
import math
import textwrap
from collections.abc import Sequence

from morello._version import __version__
from morello.aot.c_names import c_identifiers
from morello.aot.entry_points import (
    Status,
    pack_name,
    sizes_of,
    supported_name,
    unchecked_name,
)
from morello.errors import CompileError
from morello.machine.tile_permission import TILE_FEATURES
from morello.runtime.calls.call_table import ALIGNMENT
from morello.runtime.calls.parameter import Parameter, SizeAxis
from morello.runtime.element_types import element_type_of, names

_WIDTH = 80
"""Characters of a line of text."""

_STATUS = {
    Status.OK: "done",
    Status.UNSUPPORTED: "this CPU or system lacks a feature",
    Status.NULL: "a pointer is NULL",
    Status.MISALIGNED: "a pointer is not aligned",
    Status.OVERLAP: "what is written overlaps something else",
    Status.NO_MEMORY: "malloc has no memory for the workspace",
    Status.SHORT_ROW: "a leading dimension is shorter than a row, or beyond all memory",
    Status.SIZE: "the size is not one of the range",
}


@dataclasses.dataclass(frozen=True)
class Interface:
    """The contents of a header.

    Args:
        name: of the checked function.
        spec: the Spec, as text.
        meaning: the same in a sentence.
        parameters: of the kernel, inputs first.
        shapes: of the operands, in the order of their logical dimensions.
        layouts: how the operands lie in memory, as text.
        workspace_bytes: 0 where the kernel takes no workspace.
        variants: of each kernel the target and the features that it needs, the first
            choice first.
        threads: the most that a call uses.
        packable: the names of the inputs that a function packs.
    """

    name: str
    spec: str
    meaning: str
    parameters: tuple[Parameter, ...]
    shapes: tuple[tuple[int, ...], ...]
    layouts: tuple[str, ...]
    workspace_bytes: int
    variants: tuple[tuple[str, tuple[str, ...]], ...]
    threads: int
    packable: tuple[str, ...] = ()


def _c_type(parameter: Parameter) -> str:
    """The type of an element in C.

    Raises:
        CompileError: C has none that we know.
    """
    element = element_type_of(parameter.dtype)
    if element is None:
        raise CompileError(
            f"{parameter.role} has elements of {parameter.dtype.name}, for which no "
            "type of C is known",
            f"use one of {names()}",
        )
    return element.c


def _product(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "1"


def _paragraph(text: str, indent: str = "   ") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _remark(text: str) -> str:
    """A comment before a declaration."""
    return "/* " + _paragraph(f"{text} */").lstrip()


def _argument_notes(interface: Interface) -> str:
    """A line or two on each argument."""
    notes = []
    for parameter, shape, layout in zip(
        interface.parameters, interface.shapes, interface.layouts, strict=True
    ):
        role = "reads"
        if parameter.is_output:
            role = "reads and writes" if parameter.accumulates else "writes"
        text = f"{parameter.name}: {role} {_product(shape)} {parameter.dtype.name}"
        element = element_type_of(parameter.dtype)
        if element is not None and element.c_meaning:
            text += f" (each {element.c_meaning})"
        gaps = "row-major without gaps"
        if parameter.any_row:
            gaps = (
                f"rows {_row_name(interface, parameter)} elements apart, at least "
                f"{parameter.shape[-1]}, of which the gaps are neither read nor written"
            )
        elif parameter.strides:
            gaps = (
                f"rows {parameter.strides[-2]} elements apart, of which the gaps are "
                "neither read nor written"
            )
        if parameter.shape in (shape, *parameter.alternatives):
            text += f", {gaps}"
        else:
            text += (
                f" in the layout {layout}: memory holds {_product(parameter.shape)} "
                f"elements, {gaps}"
            )
        text += _bytes_note(interface, parameter)
        text += f", aligned to {parameter.dtype.itemsize}."
        notes.append(_paragraph(text, "     "))
    if interface.workspace_bytes:
        notes.append(
            _paragraph(
                f"workspace: {interface.workspace_bytes} bytes, aligned to "
                f"{ALIGNMENT}, whose contents mean nothing before and after; calls at "
                "the same time need one each.",
                "     ",
            )
        )
    for axis, name in _named_sizes(interface):
        text = f"{name}: the size of the call, {axis}."
        notes.append(_paragraph(text, "     "))
    return "\n".join(notes)


def _bytes_note(interface: Interface, parameter: Parameter) -> str:
    """The bytes of an array; nothing where the distance of its rows decides."""
    if parameter.any_row:
        return ""
    numbers = {axis.number for axis in parameter.sizes}
    if not numbers:
        return f"; {parameter.nbytes} bytes"
    named = [(a, name) for a, name in _named_sizes(interface) if a.number in numbers]
    names = " and ".join(name for _, name in named)
    if parameter.is_open:
        return f"; {parameter.size_bytes} bytes where {names} is 1"
    limits = " and ".join(f"{name} is {axis.sizes[-1]}" for axis, name in named)
    each = parameter.nbytes // math.prod(axis.sizes[-1] for axis, _ in named)
    return f", where {limits}; {each} bytes for each of {names}"


def _linking(interface: Interface) -> str:
    if interface.threads == 1:
        return "It runs on the thread that calls it and needs no library but C's own."
    return (
        f"It runs on up to {interface.threads} threads by OpenMP. Link it with the "
        "runtime of LLVM or Intel: -lomp or -liomp5 (of the package intel-openmp). "
        "GCC's libgomp lacks its entry points."
    )


def _features(interface: Interface) -> str:
    """Describe the features that the CPU must have, and the code that it runs."""
    *others, (_, least) = interface.variants
    paragraphs = [_paragraph(f"It needs a CPU with {', '.join(least)}.")]
    for target, features in others:
        more = [feature for feature in features if feature not in least]
        paragraphs.append(
            _paragraph(f"With {', '.join(more)}, too, it runs the code for {target}.")
        )
    if any(TILE_FEATURES.intersection(features) for _, features in interface.variants):
        function, supported = interface.name, supported_name(interface.name)
        paragraphs.append(
            _paragraph(
                f"The first call of {function} or {supported} asks Linux to permit "
                "tiles (AMX) to this process; where it refuses, the system lacks them. "
                f"{unchecked_name(function)} does not ask."
            )
        )
    return "\n".join(paragraphs)


def _comment(interface: Interface) -> str:
    targets = " and ".join(target for target, _ in interface.variants)
    return f"""\
/* {interface.spec}, compiled by Morello {__version__} for {targets}.

{_paragraph(interface.meaning)}

{_argument_notes(interface)}

   What is written must not overlap anything else. Any number of threads may
   call it at the same time.

{_paragraph(_linking(interface))}

{_features(interface)}
*/"""


def _defines(interface: Interface) -> str:
    prefix = interface.name
    sizes = _named_sizes(interface)
    unused = {
        *(() if _row_names(interface) else (Status.SHORT_ROW,)),
        *(() if sizes else (Status.SIZE,)),
    }
    lines = [
        f"/* {meaning} */\n#define {prefix}_{status.name} {status.value}"
        for status, meaning in _STATUS.items()
        if status not in unused
    ]
    lines.append("")
    for parameter in interface.parameters:
        count = parameter.nbytes // parameter.dtype.itemsize
        if not parameter.is_open:
            lines.append(f"#define {prefix}_{parameter.name.upper()}_ELEMENTS {count}")
        if parameter.strides and not parameter.any_row:
            macro = f"{prefix}_{parameter.name.upper()}_LEADING_DIMENSION"
            lines.append(f"#define {macro} {parameter.strides[-2]}")
    for axis, name in sizes:
        limits = axis.sizes[0], axis.sizes[-1], axis.sizes.step
        for word, number in zip(("LEAST", "GREATEST", "STEP"), limits, strict=True):
            macro = f"{prefix}_{name.upper()}_{word}"
            lines.append(f"#define {macro} {number}")
    lines.append(f"#define {prefix}_WORKSPACE_BYTES {interface.workspace_bytes}")
    lines.append(f"#define {prefix}_WORKSPACE_ALIGNMENT {ALIGNMENT}")
    return "\n".join(lines)


def _typedefs(interface: Interface) -> str:
    return "\n".join(
        f"typedef {_c_type(parameter)} {interface.name}_{parameter.name}_t;"
        for parameter in interface.parameters
    )


def _local(interface: Interface, name: str) -> str:
    """A parameter or variable of this name, where it does not hide the function."""
    return f"{name}_" if name == interface.name else name


def _row_name(interface: Interface, parameter: Parameter) -> str:
    """The argument that says how far the rows of another one are apart."""
    name = f"{parameter.name}_leading_dimension"
    taken = [interface.name, *(other.name for other in interface.parameters)]
    while name in taken:
        name += "_"
    return name


def _row_names(interface: Interface) -> list[str]:
    return [
        _row_name(interface, parameter)
        for parameter in interface.parameters
        if parameter.any_row
    ]


def _named_sizes(interface: Interface) -> list[tuple[SizeAxis, str]]:
    """The sizes that a call says, each with the argument that says it."""
    axes = sizes_of(interface.parameters)
    taken = [parameter.name for parameter in interface.parameters]
    names = c_identifiers([*taken, *(axis.name for axis in axes)])[len(taken) :]
    return [(a, _local(interface, n)) for a, n in zip(axes, names, strict=True)]


def _number_names(interface: Interface) -> list[str]:
    """The arguments that are numbers: the sizes of a call, then how far rows are
    apart."""
    sizes = [name for _, name in _named_sizes(interface)]
    return sizes + _row_names(interface)


def _arguments(interface: Interface, workspace: bool) -> str:
    mark = f"{interface.name}_RESTRICT "
    declared = []
    for parameter in interface.parameters:
        const = "" if parameter.is_output else "const "
        kind = f"{interface.name}_{parameter.name}_t"
        declared.append(f"{const}{kind} *{mark}{_local(interface, parameter.name)}")
    if workspace:
        declared.append(f"void *{mark}{_local(interface, 'workspace')}")
    declared += [f"int64_t {name}" for name in _number_names(interface)]
    return ",\n    ".join(declared)


def _with_malloc(interface: Interface) -> str:
    """The function that needs no workspace from its caller."""
    name = prefix = interface.name
    names = ", ".join(_local(interface, p.name) for p in interface.parameters)
    rows = "".join(f", {number}" for number in _number_names(interface))
    memory, past, status = (_local(interface, n) for n in ("memory", "past", "status"))
    if not interface.workspace_bytes:
        body = f"    return {name}({names}{rows});"
    else:
        body = f"""\
    char *{memory} = (char *)malloc({prefix}_WORKSPACE_BYTES + {ALIGNMENT - 1});
    size_t {past} = (size_t){memory} % {ALIGNMENT};
    int {status};
    if ({memory} == NULL)
        return {prefix}_NO_MEMORY;
    {status} = {name}({names}, {memory} + ({past} ? {ALIGNMENT} - {past} : 0){rows});
    free({memory});
    return {status};"""
    return f"""\
static inline int {name}_malloc(
    {_arguments(interface, False)})
{{
{body}
}}"""


def _packing(interface: Interface) -> str:
    """The functions that bring inputs into their layouts."""
    functions = []
    for operand, shape in zip(interface.parameters, interface.shapes, strict=True):
        if operand.name not in interface.packable:
            continue
        kind = f"{interface.name}_{operand.name}_t"
        mark = f"{interface.name}_RESTRICT "
        text = (
            f"Fills 'to', {interface.name}_{operand.name.upper()}_ELEMENTS long, with "
            f"{operand.name} in its layout, from an array of {_product(shape)} "
            f"elements: 'strides' has the elements from one index to the next along "
            f"each of its {len(shape)} dimensions, or is NULL where it is row-major."
        )
        functions.append(f"""
{_remark(text)}
void {pack_name(interface.name, operand.name)}(
    const {kind} *{mark}from,
    const ptrdiff_t *strides,
    {kind} *{mark}to);
""")
    return "".join(functions)


def header(interface: Interface) -> str:
    """The header, for C99 and C++.

    All its names begin with that of the function, upper and lower case as it is: those
    of two kernels differ even if their names differ in case only.

    Raises:
        CompileError: an element type that C does not have.
    """
    name = prefix = interface.name
    has_workspace = interface.workspace_bytes > 0
    arguments = _arguments(interface, has_workspace)
    checked = (
        f"Asks the CPU, checks the pointers, runs. Answers with {prefix}_OK, or with "
        "another status; then nothing was written."
    )
    return f"""\
{_comment(interface)}
#ifndef {prefix}_H
#define {prefix}_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define {prefix}_RESTRICT __restrict
extern "C" {{
#else
#define {prefix}_RESTRICT restrict
#endif

{_defines(interface)}

{_typedefs(interface)}

{_remark("Whether this CPU and system have what it needs: 1 or 0.")}
int {supported_name(name)}(void);

{_remark(checked)}
int {name}(
    {arguments});

{_remark(f"Runs at once: all that {name} checks must hold.")}
void {unchecked_name(name)}(
    {arguments});
{_packing(interface)}
{_remark(f"Runs {name} with a workspace from malloc, if it needs one.")}
{_with_malloc(interface)}

#ifdef __cplusplus
}}
#endif

#endif
"""

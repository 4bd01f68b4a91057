"""The text form of a Spec.

``kind:sizes[:dtypes][:option=value]…`` where sizes are joined by ``x`` and dtypes by
commas (one for all operands, or one each; ``f32`` if left out). A size that each call
says is a range (`size_range.py`): ``1..512``. Options name an operand
to give its layout and level (``rhs=[0,2,1]``, ``out=[0,1,2]@L1``) and the elements from
row to row (``lhs=ld4096``, ``rhs=[0,2,1]/ld4096``; ``lhs=ld?`` where each call says
it), a limit (``l1=256``), ``serial=false`` to allow parallel loops, or what the kind
defines (``value=lowest`` of fill, ``saturating=true`` of matmul).
"""

import dataclasses
import re
from typing import Any

from morello.errors import SpecError
from morello.spec.elements.dtypes import Dtype
from morello.spec.kind import Kind
from morello.spec.kinds import labels
from morello.spec.mixes import complete_mix, has_dtypes
from morello.spec.named_form import named_form
from morello.spec.operand import Operand
from morello.spec.size_range import SizeRange, WrittenSizes
from morello.spec.spec import ANY_ROW, Spec, argument_tensor, check_form
from morello.spec.tensors.layout import Layout
from morello.spec.tensors.limits import Limits
from morello.spec.tensors.memories import Memory, bounded_memories
from morello.spec.tensors.tensor import TensorSpec
from morello.spec.text.spellings import kind_and_sizes, short_spelling, text_options
from morello.suggestions import did_you_mean

GRAMMAR = "kind:sizes[:dtypes][:option=value]…, for example matmul:512x512x512:f32"


def parse_spec(text: str, limits: Limits) -> Spec:
    """The Spec written ``text``; ``limits`` hold where it gives none.

    Raises:
        SpecError: the text is not a Spec; the message names the part and the reason.
    """
    return read_parts(text, parts_of(text), limits)[0]


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a text, which colons join: sizes, dtypes, an option."""

    text: str
    column: int
    """The place of its first character, from 1."""


def parts_of(text: str) -> list[Part]:
    """The parts of a text."""
    column, parts = len(text) - len(text.lstrip()) + 1, []
    for part in text.strip().split(":"):
        parts.append(Part(part, column))
        column += len(part) + 1
    return parts


def read_parts(
    text: str, parts: list[Part], limits: Limits
) -> tuple[Spec, tuple[Operand, ...]]:
    """The Spec of some parts of a text, and the operands by the names that the text
    has for them.

    Raises:
        SpecError: as `parse_spec`.
    """
    options = _Options()
    try:
        return _read(text, parts, limits, options)
    except SpecError as error:
        raise error.at_column(options.column) from None


def _read(
    text: str, parts: list[Part], limits: Limits, options: "_Options"
) -> tuple[Spec, tuple[Operand, ...]]:
    if len(parts) < 2:
        of_mlir = "; files of MLIR are for morello run, bench, explain and save"
        hint = of_mlir if text.endswith(".mlir") else ""
        raise SpecError(f"'{text}' is not a Spec", f"write {GRAMMAR}{hint}")
    label, size_part, *rest = parts[0].text, *parts[1:]
    options.column, kinds = parts[0].column, labels()
    if label not in kinds:
        raise SpecError(
            f"unknown kind '{label}' in the Spec '{text}'",
            f"use one of {', '.join(kinds)}{did_you_mean(label, kinds, _ELSEWHERE)}",
        )
    options.column = size_part.column
    written = _sizes(text, size_part.text)
    for part in rest:
        if "=" in part.text:
            options.read(text, part)
    elements = [part for part in rest if "=" not in part.text]
    dtypes = _dtypes(text, elements, options)
    plain, options.column = dict(options), size_part.column
    kind, sizes = _kind(text, written.numbers, written.greatest, options)
    options.column = size_part.column
    ranges = tuple(_settled(text, written, one, sizes, plain) for one in written.ranges)
    follows = kind.as_graph is not None and kind.as_graph.call_sizes
    if follows and list(ranges) != sorted(ranges):
        order = sorted(range(len(ranges)), key=ranges.__getitem__)
        numbers = tuple(order.index(n) if n >= 0 else n for n in written.numbers)
        kind, _ = _kind(text, numbers, written.greatest, plain)
        ranges = tuple(sorted(ranges))
    leading = _leading(kind, sizes, options)
    options.column = (elements or parts)[0].column
    tensors = _tensors(kind, complete_mix(kind, dtypes), options, leading)
    limits = _limits(limits, options)
    serial = _serial(options)
    if options:
        names = [*(o.name for o in kind.operands), *_named_limits(limits), "serial"]
        names += [n for n in dict.fromkeys(options.asked) if n not in names]
        wrong = next(iter(options))
        options.column = options.columns[wrong]
        raise SpecError(
            f"unknown option '{wrong}' in the Spec '{text}'",
            f"{label} has the options {', '.join(names)}{did_you_mean(wrong, names)}",
        )
    operands, named = kind.operands, named_form(kind, sizes, tensors)
    if named is not None and named.keeps_arguments:
        kind, sizes, tensors = named.kind, named.sizes, named.tensors
        ranges = tuple(
            dataclasses.replace(one, dims=named.dims(one.dims)) for one in ranges
        )
    options.column = size_part.column
    try:
        return Spec(kind, sizes, tensors, limits, serial, leading, ranges), operands
    except SpecError:
        if not has_dtypes(kind, tuple(tensor.dtype for tensor in tensors)):
            options.column = (elements or parts)[0].column
        raise


def _kind(
    text: str,
    numbers: tuple[int, ...],
    written: tuple[int, ...],
    options: dict[str, str],
) -> tuple[Kind, tuple[int, ...]]:
    """The kind that a text names, and the size of each of its dimensions.

    Its options are taken out of ``options``.
    """
    label = text.strip().partition(":")[0]
    kind_class = labels()[label]
    kind, sizes = kind_and_sizes(kind_class, label, written, options, numbers)
    return kind, _complete_sizes(text, kind, sizes)


def _settled(
    text: str,
    written: WrittenSizes,
    one: SizeRange,
    sizes: tuple[int, ...],
    options: dict[str, str],
) -> SizeRange:
    """The range of the dimensions that a written one is of.

    Labels put sizes in another order, and may make another graph of another size: the
    text is read with the least size, too.

    Raises:
        SpecError: it is of no dimension, or the graph is another one.
    """
    kind, least = _kind(text, written.numbers, written.least(one), dict(options))
    moved = tuple(d for d in range(len(sizes)) if least[d : d + 1] != sizes[d : d + 1])
    same = kind == _kind(text, written.numbers, written.greatest, dict(options))[0]
    if not moved or not same or any(least[dim] != one.least for dim in moved):
        raise SpecError(
            f"the range {one.text(written.greatest[one.dims[0]])} in the Spec '{text}' "
            "is of no dimension that its kind has for each size alike",
            "settle this size; a compose names the dimensions themselves",
        )
    return dataclasses.replace(one, dims=moved)


def print_spec(spec: Spec, limits: Limits) -> str:
    """The shortest text that `parse_spec` reads back, given the same ``limits``."""
    kind = spec.kind
    omitted = (
        kind.optional_dims
        if all(s == 1 for s in spec.sizes[: kind.optional_dims])
        else 0
    )
    dtypes = [str(d) for d in spec.dtypes]
    short = short_spelling(kind, spec.sizes, spec.range_numbers)
    label, sizes = short or (kind.label, spec.sizes[omitted:])
    parts = [
        label,
        _print_sizes(spec, sizes, omitted),
        dtypes[0] if len(set(dtypes)) == 1 else ",".join(dtypes),
    ]
    options = text_options(kind).items()
    parts += (f"{n}={value}" for n, value in options if short is None or n != "graph")
    leading = spec.leading or (0,) * len(spec.tensors)
    for operand, tensor, apart in zip(
        kind.operands, spec.tensors, leading, strict=True
    ):
        default = argument_tensor(tensor.dtype, Layout.row_major(tensor.rank))
        if apart:
            form = "" if tensor.layout.is_row_major else f"{tensor.layout}/"
            row = "?" if apart == ANY_ROW else apart
            parts.append(f"{operand.name}={form}ld{row}")
        elif tensor != default:
            parts.append(f"{operand.name}={_print_form(tensor)}")
    counted = dict(limits.items())
    for memory, free in spec.limits.items():
        if free != counted.get(memory):
            parts.append(f"{memory.limit}={free}")
    if not spec.serial:
        parts.append("serial=false")
    return ":".join(parts)


def _print_sizes(spec: Spec, sizes: tuple[int, ...], omitted: int) -> str:
    """The list of sizes: those of a short name, or all but the first ones."""
    ranges = []
    for one in spec.ranges:
        least = tuple(
            one.least if dim in one.dims else size
            for dim, size in enumerate(spec.sizes)
        )
        short = short_spelling(spec.kind, least, spec.range_numbers)
        moved = short[1] if short else least[omitted:]
        places = (p for p, size in enumerate(sizes) if moved[p] != size)
        ranges.append(dataclasses.replace(one, dims=tuple(places)))
    return str(WrittenSizes(sizes, tuple(ranges)))


def _print_form(tensor: TensorSpec) -> str:
    text = str(tensor.layout)
    if not tensor.level.is_main:
        text += f"@{tensor.level}"
    if tensor.vector_width:
        text += f"v{tensor.vector_width}"
    if tensor.contiguous or tensor.layout.is_packed or tensor.vector_width:
        return text
    return f"{text}/strided"


_ELSEWHERE = {"gemm": "matmul", "dot": "matmul", "copy": "move", "transpose": "move"}
"""Kinds by their names in other libraries."""


def _sizes(text: str, size_text: str) -> WrittenSizes:
    written = WrittenSizes.parse(size_text)
    if written is None:
        plain = re.sub(r"\s*[xX\xd7*,]\s*", "x", size_text)
        meant = f"; did you mean '{plain}'?" if WrittenSizes.parse(plain) else ""
        raise SpecError(
            f"'{size_text}' in the Spec '{text}' is not a list of sizes",
            f"join positive integers, or ranges like 1..512, by x: 512x512x512{meant}",
        )
    return written


def _complete_sizes(text: str, kind: Kind, sizes: tuple[int, ...]) -> tuple[int, ...]:
    full = len(kind.dims)
    missing = full - len(sizes)
    if not 0 <= missing <= kind.optional_dims:
        least = full - kind.optional_dims
        raise SpecError(
            f"the Spec '{text}' has {len(sizes)} sizes, but {kind.label} has "
            f"{f'{least} or {full}' if least < full else full}",
            f"give {'x'.join(kind.dims[kind.optional_dims :])}",
        )
    return (1,) * missing + sizes


class _Options(dict[str, str]):
    """Options that are taken out one by one.

    ``asked`` are all that have a meaning; ``column`` is that of what is being read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.columns: dict[str, int] = {}
        self.column = 1

    def read(self, text: str, part: Part) -> None:
        """Add the option that a part of a text is.

        Raises:
            SpecError: it is there already.
        """
        name, _, value = part.text.partition("=")
        if name in self.columns:
            self.column = part.column
            raise SpecError(
                f"option '{name}' is given twice in the Spec '{text}'", "leave one out"
            )
        self[name], self.columns[name] = value, part.column

    def __contains__(self, name: object) -> bool:
        self.asked.append(str(name))
        return super().__contains__(name)

    def pop(self, name: str, *default: Any) -> Any:
        """The value of an option, which is taken out."""
        self.asked.append(name)
        if super().__contains__(name):
            self.at_value(name)
        return super().pop(name, *default)

    def at_value(self, name: str) -> None:
        """The value of an option is being read."""
        self.column = self.columns[name] + len(name) + 1


def _dtypes(text: str, parts: list[Part], options: _Options) -> tuple[Dtype, ...]:
    if len(parts) > 1:
        options.column = parts[1].column
        raise SpecError(
            f"'{parts[1].text}' in the Spec '{text}' is neither sizes, dtypes nor an "
            "option",
            f"write {GRAMMAR}",
        )
    dtypes = []
    options.column = parts[0].column if parts else 1
    for name in parts[0].text.split(",") if parts else ["f32"]:
        dtypes.append(Dtype.parse(name))
        options.column += len(name) + 1
    return tuple(dtypes)


_FORM = re.compile(r"(\[[^\]]*\])(?:@(\w+?))?(?:v(\d{1,9}))?(/strided)?")


def _tensors(
    kind: Kind,
    dtypes: tuple[Dtype, ...],
    options: _Options,
    leading: tuple[int, ...],
) -> tuple[TensorSpec, ...]:
    tensors = []
    rows = leading or (0,) * len(dtypes)
    for operand, dtype, row in zip(kind.operands, dtypes, rows, strict=True):
        value = options.pop(operand.name, str(Layout.row_major(operand.rank)))
        match = _FORM.fullmatch(value)
        if match is None:
            open_to = "; only morello.compile takes 'any'" if value == "any" else ""
            raise SpecError(
                f"'{value}' is not a form of the operand '{operand.name}'",
                "write a layout, then its level: [0,1,2]@L1; or the elements from row "
                f"to row: ld4096, or ld? where each call says it{open_to}",
            )
        tensor = argument_tensor(dtype, Layout.parse(match[1]))
        strided = match[4] is not None or match[3] is not None
        tensors.append(
            dataclasses.replace(
                tensor,
                level=Memory.parse(match[2]) if match[2] else tensor.level,
                vector_width=int(match[3] or 0),
                contiguous=tensor.contiguous and not strided and not row,
            )
        )
        check_form(kind, operand, tensors[-1])
    return tuple(tensors)


_LEADING = re.compile(r"(?:(.+)/)?ld(\d{1,12}|\?)", re.ASCII)


def _leading(kind: Kind, sizes: tuple[int, ...], options: _Options) -> tuple[int, ...]:
    """The leading dimensions, which are taken out of the forms of the operands.

    One that is as long as a row parts nothing: it is left out. Empty if none is left.

    Raises:
        SpecError: one is shorter than a row.
    """
    rows = []
    for operand in kind.operands:
        match = _LEADING.fullmatch(options.get(operand.name, ""))
        if match is None:
            rows.append(0)
            continue
        options.at_value(operand.name)
        plain = Layout.row_major(operand.rank)
        form = options[operand.name] = match[1] or str(plain)
        layout = Layout.parse(form) if form.endswith("]") else plain
        if match[2] == "?":
            rows.append(ANY_ROW)
            continue
        row, distance = _row(layout, operand.sizes(sizes)), int(match[2])
        if distance < row:
            raise SpecError(
                f"operand '{operand.name}' has rows of {row} elements, but the leading "
                f"dimension {distance}",
                f"give {row} or more",
            )
        rows.append(distance if distance > row else 0)
    return tuple(rows) if any(rows) else ()


def _row(layout: Layout, shape: tuple[int, ...]) -> int:
    """The elements of a row; 0 where the layout is another operand's."""
    return layout.physical_shape(shape)[-1] if layout.rank == len(shape) else 0


def _limits(limits: Limits, options: dict[str, str]) -> Limits:
    named = _named_limits(limits)
    free = {memory.limit: value for memory, value in limits.items()}
    for name in [name for name in named if name in options]:
        value = options.pop(name)
        if not re.fullmatch(r"\d{1,9}", value, re.ASCII):
            raise SpecError(
                f"limit {name}={value} is not a number of {named[name].units}",
                f"write for example {name}={free.get(name, 1)}",
            )
        free[name] = int(value)
    return Limits.of(**{name: free[name] for name in named if name in free})


def _named_limits(limits: Limits) -> dict[str, Memory]:
    """The memories that a text may limit, by name: all where no limits are known."""
    counted = limits.memories or tuple(bounded_memories().values())
    return {memory.limit: memory for memory in counted}


def _serial(options: dict[str, str]) -> bool:
    value = options.pop("serial", "true")
    if value not in ("true", "false"):
        raise SpecError(f"option serial={value}", "write serial=true or serial=false")
    return value == "true"

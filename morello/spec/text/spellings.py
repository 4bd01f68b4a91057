"""Spellings of kinds: their labels and options in the text, ``value=lowest``."""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.errors import SpecError
from morello.spec.compose import Compose
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.names import named
from morello.spec.graphs.text import parse_named, size_order
from morello.spec.kind import Kind
from morello.spec.spec import check_sizes
from morello.spec.text.labels import LABELS, label_of, labelled


def _bool(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",")) if text else ()


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: (_bool, "{0}=true or {0}=false"),
    int: (int, "{0}=1"),
    str: (str, "{0}=…"),
    tuple[int, ...]: (_ints, "{0}=1,2"),
}
"""How an option of a type is read, and what to write for it."""


def labels_of(kind_class: type[Kind]) -> tuple[str, ...]:
    """Names of a kind in the text form: one more if it can accumulate; for graphs the
    short names, too."""
    if issubclass(kind_class, Compose):
        return (kind_class.name, *LABELS)
    accumulates = "accum" in {field.name for field in dataclasses.fields(kind_class)}
    accumulating = (f"{kind_class.name}_accum",) if accumulates else ()
    return (kind_class.name, *accumulating)


def option_names(kind_class: type[Kind]) -> tuple[str, ...]:
    """Names of the options that the text form of a kind may give."""
    names = (field.name for field in dataclasses.fields(kind_class))
    return tuple(name for name in names if name not in ("accum", "rank"))


def kind_of_label(
    kind_class: type[Kind], label: str, rank: int, options: dict[str, str]
) -> Kind:
    """The kind without a graph of a label; its options are taken out of ``options``.

    Args:
        rank: how many sizes there are.

    Raises:
        SpecError: an option has a value that the kind does not have.
    """
    values: dict[str, Any] = {"accum": label != kind_class.name, "rank": rank}
    fields = dataclasses.fields(kind_class)
    for field in fields:
        if field.name in option_names(kind_class) and field.name in options:
            values[field.name] = _value(field, options.pop(field.name))
    names = {field.name for field in fields}
    return kind_class(**{name: v for name, v in values.items() if name in names})


def kind_and_sizes(
    kind_class: type[Kind],
    label: str,
    sizes: tuple[int, ...],
    options: dict[str, str],
    ranges: tuple[int, ...] = (),
) -> tuple[Kind, tuple[int, ...]]:
    """The kind of a label, and sizes in the order of its dimensions, some of them left
    out perhaps.

    Args:
        ranges: the number of the range that each size is the greatest of, -1 of none.

    Raises:
        SpecError: as `kind_of_label`; or it is no graph.
    """
    if not issubclass(kind_class, Compose):
        return kind_of_label(kind_class, label, len(sizes), options), sizes
    numbers = map(str, range(len(sizes)))
    check_sizes(numbers, label, sizes)  # names divide by them
    if label in LABELS:
        label_graph = labelled(label, sizes, options, ranges)
        return _flushing(label_graph.graph, options), label_graph.sizes
    if "graph" not in options:
        raise SpecError(
            f"{label} needs the option graph=…",
            "write for example compose:8x33:f32:graph=y[m]=sum(x[m,n])",
        )
    text = options.pop("graph")
    _, names = parse_named(text)
    if len(sizes) != len(names.dims):
        raise SpecError(
            f"the graph has {len(names.dims)} dimensions "
            f"({','.join(names.dims)}) but {len(sizes)} sizes",
            "give one for each, in this order",
        )
    order = dict(zip(names.dims, size_order(names), strict=True))
    by_name = {name: sizes[place] for name, place in order.items()}
    of_ranges = {name: ranges[place] for name, place in order.items() if ranges}
    graph = named(text, by_name, of_ranges)
    return _flushing(graph.graph, options), graph.sizes


def _flushing(graph: Graph, options: dict[str, str]) -> Compose:
    """The kind of a graph; whether it flushes is taken out of the options.

    Raises:
        SpecError: it is to flush, and has no product that can.
    """
    if "flushing" in options and _value(_FLUSHING, options.pop("flushing")):
        return Compose(graph, flushing=True)
    return Compose.of(graph)


_FLUSHING = next(f for f in dataclasses.fields(Compose) if f.name == "flushing")


def short_spelling(
    kind: Kind, sizes: tuple[int, ...], ranges: tuple[int, ...] = ()
) -> tuple[str, tuple[int, ...]] | None:
    """A short name of a graph, and sizes in its order; None where there is none."""
    return label_of(kind.text, sizes, ranges) if isinstance(kind, Compose) else None


def _value(field: "dataclasses.Field[Any]", text: str) -> Any:
    read, example = _READERS[field.type]
    try:
        return read(text)
    except (KeyError, ValueError):
        raise SpecError(
            f"option {field.name}={text}", f"write {example.format(field.name)}"
        ) from None


def text_options(kind: Kind) -> dict[str, str]:
    """The options that the text form of a kind must give, with their values."""
    if isinstance(kind, Compose):
        return {"graph": kind.text} | ({"flushing": "true"} if kind.flushing else {})
    names = option_names(type(kind))
    return {
        field.name: _text(value)
        for field in dataclasses.fields(kind)
        if field.name in names and (value := getattr(kind, field.name)) != field.default
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

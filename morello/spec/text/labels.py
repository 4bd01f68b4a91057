"""Names of graphs in the text form: ``softmax:8x33``, ``exp:8x33``, ``max:8x33``.

Those in `names.py` have graphs of several nodes. Here are those of one: functions of
elements, and reductions of arrays of any rank, as ``sum:2x3x4:f32:axis=0``.
"""

import re
import string
from functools import lru_cache

from morello.errors import SpecError
from morello.spec.functions import BINARY, UNARY
from morello.spec.graphs.expression import Call, Reference
from morello.spec.graphs.graph import MAP, NEUTRAL
from morello.spec.graphs.names import (
    SHORT_NAMES,
    Named,
    Options,
    expanded,
    named,
    short_text,
)
from morello.spec.graphs.text import MOST_RANK, parse_graph
from morello.spec.index_map import plain

REDUCTIONS = ("sum", "max", "min", "mean")
"""Names that take any number of sizes, and the option ``axis``."""

ADDING = tuple(f"{name}_accum" for name in NEUTRAL)
"""Names of reductions along the last axis that are added to what the output holds."""

MAPS = (*(name for name in UNARY if name != "copy"), *BINARY)
"""Functions of elements, which take any number of sizes."""

LABELS = (*SHORT_NAMES, *REDUCTIONS, *ADDING, *MAPS)
"""All names of graphs."""


def labelled(
    label: str, sizes: tuple[int, ...], options: Options, ranges: tuple[int, ...] = ()
) -> Named:
    """The graph that a name stands for.

    Args:
        ranges: see `expanded`.

    Raises:
        SpecError: another number of sizes than it takes, or an option without meaning.
    """
    if label in SHORT_NAMES:
        return expanded(label, sizes, options, ranges)
    if len(sizes) >= MOST_RANK:
        raise SpecError(
            f"{label} of {len(sizes)} sizes", f"give at most {MOST_RANK - 1}"
        )
    letters = string.ascii_lowercase[: len(sizes)]
    by_name = dict(zip(letters, sizes, strict=True))
    if label not in MAPS:
        return _reduction(
            label, by_name, options, dict(zip(letters, ranges, strict=False))
        )
    over = ",".join(letters)
    values = ",".join(f"{x}[{over}]" for x in ("x0", "x1")[: 1 + (label in BINARY)])
    return named(f"y[{over}]={label}({values})", by_name)


def _reduction(
    label: str, by_name: dict[str, int], options: Options, ranges: dict[str, int]
) -> Named:
    """Reduction along some axes, the last one if none is given; where none is left, the
    input and the output have one of size 1 before all."""
    letters = "".join(by_name)
    adds = label in ADDING
    axes = _axes("-1" if adds else options.pop("axis", "-1"), len(letters))
    output_letters = "".join(c for i, c in enumerate(letters) if i not in axes)
    over = [letters[i] for i in range(len(letters)) if i in axes]
    if not output_letters:
        output_letters, letters = "z", "z" + letters
        by_name = {"z": 1, **by_name}
    read, out = f"x[{','.join(letters)}]", ",".join(output_letters)
    if label == "mean":
        share = "".join(f"/size({name})" for name in over)
        return named(f"s[{out}]=sum({read});y[{out}]=s*(1.0{share})", by_name, ranges)
    sign = "+=" if adds else "="
    return named(f"y[{out}]{sign}{label.removesuffix('_accum')}({read})", by_name)


def _axes(text: str, rank: int) -> set[int]:
    if text == "all":
        return set(range(rank))
    is_list = re.fullmatch(r"-?\d{1,9}(,-?\d{1,9})*", text, re.ASCII)
    axes = [int(part) for part in text.split(",")] if is_list else [rank]
    if any(not -rank <= axis < rank for axis in axes):
        raise SpecError(
            f"axis={text} of an array of {rank} axes",
            f"write numbers from {-rank} to {rank - 1}, joined by commas, or axis=all",
        )
    return {axis % rank for axis in axes}


@lru_cache(maxsize=4096)
def label_of(
    text: str, sizes: tuple[int, ...], ranges: tuple[int, ...] = ()
) -> tuple[str, tuple[int, ...]] | None:
    """The name of a canonical graph, and sizes in its order; None if it has none.

    Args:
        ranges: see `expanded`.
    """
    graph = parse_graph(text)
    every = plain(*range(graph.rank))
    if len(graph.nodes) > 1 or any(axes != every for axes in graph.inputs):
        return short_text(text, sizes, ranges)
    (node,), (out,) = graph.nodes, graph.outputs
    match node.expression:
        case Call(name, arguments) if name in MAPS and node.reduction == MAP:
            whole = arguments == tuple(map(Reference, range(len(arguments))))
            return (name, sizes) if whole and plain(*node.axes) == every else None
        case Reference() if node.axes == tuple(range(graph.rank - 1)):
            return node.reduction + "_accum" * out.accumulates, sizes
    return None

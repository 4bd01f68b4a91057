"""A graph as an attribute that MLIR understands: affine maps, and bodies of elements.

``x1`` is read at ``2*d0 + d1``, from one place before its first element on::

    {inputs = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)>],
     nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1) -> (d0)>,
               output = "overwrite", reduction = "sum"}]}

Maps are from the dimensions of the graph to the axes of a value, as ``indexing_maps``
of ``linalg.generic``. A body is a value by its number, inputs first; a constant; a
number that follows from the sizes of the call, ``"(1.0/size(0))"``; or a function and
its arguments. ``output`` is missing where a node is internal; it may be
``"accumulate"``. ``after = [array<i64: 1>, …]`` has the zeros after the last element of
each axis of the inputs, where there are any. ``halves = [array<i64: 0, 1>, …]`` has 1
for each axis, divided by 2, whose elements are the halves of bytes.
"""

import dataclasses
import functools
import re
from typing import Any

from morello.dialect.attributes import i64_attr
from morello.errors import SpecError, shortened
from morello.mlir import ir
from morello.spec.functions import FUNCTIONS
from morello.spec.graphs.expression import (
    MOST_DEPTH,
    Call,
    Constant,
    Expression,
    Reference,
    SizeNumber,
    references,
)
from morello.spec.graphs.graph import NEUTRAL, Graph, Node, Output, canonical
from morello.spec.graphs.text import (
    MOST_RANK,
    MOST_VALUES,
    parse_canonical,
    parse_number,
)
from morello.spec.index_map import IndexMap, dims_of, plain, plain_dims
from morello.spec.text.graphs import number_text, print_graph

EXAMPLE = (
    "{inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0, map = "
    'affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}]}'
)

_OUTPUTS = {"overwrite": False, "accumulate": True}
_MOST_TEXT = 1 << 14


def write_graph(graph: Graph) -> ir.Attribute:
    """The attribute of a graph in its canonical form, in the current context."""
    with ir.Location.unknown():  # which attributes of floats want
        return _written(graph)


def _written(graph: Graph) -> ir.Attribute:
    entries = {
        "inputs": ir.ArrayAttr.get([_map(graph, axes) for axes in graph.inputs]),
        "nodes": ir.ArrayAttr.get([_node(graph, v) for v in graph.node_values]),
    }
    after = [[axis.after for axis in axes] for axes in graph.inputs]
    if any(map(any, after)):
        entries["after"] = _numbers(after)
    halves = [[int(axis.halves) for axis in axes] for axes in graph.inputs]
    if any(map(any, halves)):
        entries["halves"] = _numbers(halves)
    return ir.DictAttr.get(entries)


def _numbers(of_axes: list[list[int]]) -> ir.Attribute:
    return ir.ArrayAttr.get(list(map(ir.DenseI64ArrayAttr.get, of_axes)))


def _map(graph: Graph, axes: tuple[IndexMap, ...]) -> ir.Attribute:
    results = list(map(_affine, axes))
    return ir.AffineMapAttr.get(ir.AffineMap.get(graph.rank, 0, results))


def _affine(axis: IndexMap) -> ir.AffineExpr:
    expr = ir.AffineExpr.get_constant(0)
    for dim, step in axis.terms:
        expr = expr + ir.AffineExpr.get_dim(dim) * step
    expr = expr - axis.before
    if axis.divisor > 1:
        expr = ir.AffineExpr.get_floor_div(expr, axis.divisor)
    return expr


def _node(graph: Graph, value: int) -> ir.Attribute:
    node = graph.node(value)
    entries = {
        "body": _body(node.expression),
        "map": _map(graph, plain(*node.axes)),
        "reduction": ir.StringAttr.get(node.reduction),
    }
    if value in graph.modes:
        mode = "accumulate" if graph.modes[value] else "overwrite"
        entries["output"] = ir.StringAttr.get(mode)
    return ir.DictAttr.get(entries)


def _body(expression: Expression) -> ir.Attribute:
    match expression:
        case Reference(value):
            return i64_attr(value)
        case Constant(number):
            return ir.FloatAttr.get(ir.F64Type.get(), number)
        case SizeNumber():
            return ir.StringAttr.get(number_text(expression))
        case Call(function, arguments):
            name = ir.StringAttr.get(function)
            return ir.ArrayAttr.get([name, *map(_body, arguments)])


def read_graph(attr: ir.Attribute, what: str) -> Graph:
    """The graph that an attribute holds; ``what`` names it in the error.

    Raises:
        SpecError: it holds none, or one that is not in its canonical form.
    """
    text = str(attr)
    if len(text) > _MOST_TEXT:
        raise SpecError(f"{what} of {len(text)} characters is no graph of a few nodes")
    try:
        return _parsed(text)
    except _UnfitError as error:
        raise SpecError(
            f"{what} is {shortened(text)}: {error}", f"write for example {EXAMPLE}"
        ) from None


class _UnfitError(Exception):
    """A part that no graph has."""


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Graph:
    graph = _graph(_entries(ir.Attribute.parse(text)))
    plain_text = print_graph(graph)
    canonical_graph = canonical(graph).graph
    if canonical_graph != graph:
        raise SpecError(
            f"the graph {plain_text} is not in canonical form",
            f"write graph = {write_graph(canonical_graph)}",
        )
    return parse_canonical(plain_text)


def _entries(attr: ir.Attribute) -> dict[str, Any]:
    dictionary = attr.maybe_downcast()
    if not isinstance(dictionary, ir.DictAttr):
        raise _UnfitError(f"{shortened(str(attr))} is no dictionary")
    return {
        dictionary[i].name: dictionary[i].attr.maybe_downcast()
        for i in range(len(dictionary))
    }


def _array(entries: dict[str, Any], name: str) -> list[Any]:
    array = entries.get(name)
    if not isinstance(array, ir.ArrayAttr) or len(array) > MOST_VALUES:
        raise _UnfitError(f"'{name}' is no array of at most {MOST_VALUES}")
    return [attr.maybe_downcast() for attr in array]


def _graph(entries: dict[str, Any]) -> Graph:
    inputs = [_axes(attr) for attr in _array(entries, "inputs")]
    if "after" in entries:
        inputs = _extended(inputs, entries, "after")
    if "halves" in entries:
        inputs = _extended(inputs, entries, "halves")
    nodes: list[Node] = []
    outputs: list[Output] = []
    dims = [dims_of(axes) for axes in inputs]
    for attr in _array(entries, "nodes"):
        fields = _entries(attr)
        expression = _expression(fields.get("body"), len(dims), 0)
        axes = _axes(fields.get("map"))
        output_dims = plain_dims(axes)
        reduction = _text(fields, "reduction")
        used = frozenset[int]().union(*(dims[v] for v in references(expression)))
        reduced = tuple(sorted(used - {*output_dims}))
        if len({*output_dims}) < len(axes) or not {*output_dims} <= used:
            raise _UnfitError(
                "a node has an axis that is no dimension of what it reads"
            )
        if (reduction in NEUTRAL) != bool(reduced):
            raise _UnfitError(f"'{reduction}' reduces {len(reduced)} dimensions")
        if "output" in fields:
            mode = _text(fields, "output")
            if mode not in _OUTPUTS:
                raise _UnfitError(f"the output '{mode}' is none of {[*_OUTPUTS]}")
            outputs.append(Output(len(dims), _OUTPUTS[mode]))
        nodes.append(Node(output_dims, reduction, expression, reduced))
        dims.append(frozenset(output_dims))
    if not outputs:
        raise _UnfitError("no node is an output")
    return Graph(tuple(inputs), tuple(nodes), tuple(outputs))


def _text(entries: dict[str, Any], name: str) -> str:
    text = entries.get(name)
    if not isinstance(text, ir.StringAttr):
        raise _UnfitError(f"'{name}' is no string")
    return str(text.value)


def _extended(
    inputs: list[tuple[IndexMap, ...]], entries: dict[str, Any], name: str
) -> list[tuple[IndexMap, ...]]:
    """The maps of the inputs with a field, of which each axis has a number."""
    numbers = _array(entries, name)
    counts = [tuple(a) if isinstance(a, ir.DenseI64ArrayAttr) else () for a in numbers]
    if list(map(len, counts)) != list(map(len, inputs)):
        raise _UnfitError(f"'{name}' has no number for each axis of the inputs")
    if name == "halves":
        counts = [tuple(map(bool, axis_numbers)) for axis_numbers in counts]
    return [
        tuple(
            dataclasses.replace(axis, **{name: number})
            for axis, number in zip(axes, axis_numbers, strict=True)
        )
        for axes, axis_numbers in zip(inputs, counts, strict=True)
    ]


_AXIS = re.compile(r"(?P<sum>.+?)(?: (?P<sign>[-+]) (?P<places>\d+))?", re.ASCII)
_TERM = re.compile(r"d(\d{1,2})(?: \* (\d{1,7}))?", re.ASCII)
_DIVIDED = re.compile(r"d(\d{1,2}) floordiv (\d{1,7})", re.ASCII)


def _axes(attr: Any) -> tuple[IndexMap, ...]:
    if not isinstance(attr, ir.AffineMapAttr):
        raise _UnfitError(f"{shortened(str(attr))} is no affine_map")
    affine_map = attr.value
    if affine_map.n_symbols or affine_map.n_dims > MOST_RANK:
        raise _UnfitError(f"{attr} has symbols, or more than {MOST_RANK} dimensions")
    return tuple(_axis(str(result)) for result in affine_map.results)


def _axis(text: str) -> IndexMap:
    """The map of an axis that is printed so."""
    divided = _DIVIDED.fullmatch(text)
    if divided is not None:
        return IndexMap(((int(divided[1]), 1),), divisor=int(divided[2]))
    match = _AXIS.fullmatch(text)
    terms = (
        [_TERM.fullmatch(part) for part in match["sum"].split(" + ")] if match else []
    )
    before = int(match["places"] or 0) if match else 0
    if match is None or not all(terms):
        raise _UnfitError(
            f"'{text}' is no axis such as d0 * 2 + d1 - 3 or d0 floordiv 4"
        )
    steps = {int(term[1]): int(term[2] or 1) for term in terms if term is not None}
    return IndexMap(tuple(steps.items()), before if match["sign"] == "-" else -before)


def _expression(attr: Any, count: int, depth: int) -> Expression:
    """The expression of a body; of so many values."""
    value = None if attr is None else attr.maybe_downcast()
    if isinstance(value, ir.FloatAttr):
        return Constant(value.value)
    if isinstance(value, ir.StringAttr):
        number = parse_number(str(value.value))
        if number is not None:
            return number
    if isinstance(value, ir.IntegerAttr) and 0 <= int(value.value) < count:
        return Reference(int(value.value))
    if isinstance(value, ir.ArrayAttr) and len(value) and depth < MOST_DEPTH:
        name, *arguments = value
        function = _text({"function": name.maybe_downcast()}, "function")
        if function not in FUNCTIONS:
            raise _UnfitError(f"there is no function '{function}'")
        if FUNCTIONS[function][0] == len(arguments):
            parts = (_expression(a, count, depth + 1) for a in arguments)
            return Call(function, tuple(parts))
    raise _UnfitError(f"the body {shortened(str(attr))} is no value, number or call")

"""The order of operands that commute: `in_order`.

Programs have the operands of a sum, product, maximum or minimum in either order, and
mean the same, to the bit. Here they are in the order that what they compute has,
whatever the numbers of values and dimensions are: the operand of more dimensions is the
first, then the one that takes more operations, as a person would write a*x + b.
"""

import dataclasses
import functools
import math
from collections import Counter, defaultdict
from typing import Any

from morello.spec.graphs.expression import (
    COMMUTATIVE,
    NUMBERS,
    Call,
    Constant,
    Expression,
    Reference,
    commuted,
    depth,
    references,
    rewritten,
)
from morello.spec.graphs.graph import Graph, Node, Part, canonical, composed
from morello.spec.index_map import IndexMap, dims_of

Form = tuple[Any, ...]
"""A sort key of an expression; only keys of one shape are compared."""

_ROUNDS = 4
"""How far away, in reads, what tells two values apart may be."""


@functools.lru_cache(maxsize=4096)
def in_order(graph: Graph) -> Part:
    """The canonical form of a graph with operands that commute in order; its inputs may
    come in another one."""
    part = canonical(graph)
    for _ in range(_ROUNDS):
        again = canonical(_Order(part.graph).graph())
        if again.graph == part.graph:
            break
        part = composed(part, again)
    return part


def with_inputs_in_place(graph: Graph) -> Part:
    """`in_order` where calls pass the same arrays in the same order, else the canonical
    form as it is written."""
    plain, part = canonical(graph), in_order(graph)
    arguments, others = (
        [one.values[value] for value in one.graph.operands] for one in (plain, part)
    )
    return part if arguments == others else plain


class _Order:
    """The order of what a graph has. A value is known by its color: those of one color
    are alike, as far as a few reads away shows.

    Args:
        graph: a canonical one.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._levels = self._levels_of_values()
        self._colors: dict[int, Form] = {}
        self._chosen: dict[int, int] = {}
        """Values that were alike, by which of them was chosen before the others."""
        self._refine()
        # Of two that are alike one is the first, whichever it is.
        while self._count() < graph.count:
            self._tell_one_apart()
            self._refine()

    def _refine(self) -> None:
        """Color what there is by what it is and reads, then by what reads it."""
        self._dims = self._colors_of_dims({})
        self._color_values({})
        for _ in range(_ROUNDS):
            readers = self._readers()
            before, self._dims = self._count(), self._colors_of_dims(self._colors)
            self._color_values(readers)
            if self._count() == before:
                return

    def _count(self) -> int:
        return len({*self._colors.values()})

    def _tell_one_apart(self) -> None:
        """Choose the first of the values of a color that several have."""
        counts = Counter(self._colors.values())
        color = min(color for color, count in counts.items() if count > 1)
        alike = (v for v in range(self._graph.count) if self._colors[v] == color)
        self._chosen[next(alike)] = len(self._chosen)

    def graph(self) -> Graph:
        """The graph with operands in order."""
        nodes = []
        for node in self._graph.nodes:
            order = functools.partial(self._place, node)
            in_node = functools.partial(commuted, order=order)
            expression = rewritten(node.expression, in_node)
            nodes.append(dataclasses.replace(node, expression=expression))
        return dataclasses.replace(self._graph, nodes=tuple(nodes))

    def _place(self, node: Node, operand: Expression) -> Form:
        """The place of an operand among those that it commutes with.

        Of the factors that a sum is of the first is the one with the first dimension of
        the result that the other lacks.
        """
        dims = {d for v in references(operand) for d in self._graph.dims_of(v)}
        form = self._form(operand)
        number = isinstance(operand, NUMBERS)
        if node.reduced:
            return number, [d not in dims for d in node.axes], -len(dims), form
        return number, -len(dims), -depth(operand), form

    def _form(self, expression: Expression) -> Form:
        """A sort key of an expression, whatever order operands that commute have."""
        if isinstance(expression, Reference):
            return 0, self._colors[expression.value]
        if isinstance(expression, Constant):
            number = expression.number
            return 2, number, math.copysign(1.0, number)
        if not isinstance(expression, Call):
            return 3, repr(expression)
        forms = [self._form(a) for a in expression.arguments]
        if expression.function in COMMUTATIVE:
            forms.sort()
        return 1, expression.function, *forms

    def _levels_of_values(self) -> dict[int, int]:
        """How many nodes are one after another before a value; 0 for an input."""
        levels: dict[int, int] = {}
        for value in range(self._graph.count):
            read = (levels[a] for a in self._graph.arguments(value))
            levels[value] = (
                1 + max(read, default=0) if self._graph.is_node(value) else 0
            )
        return levels

    def _colors_of_dims(self, values: dict[int, Form]) -> dict[int, int]:
        """Numbers for the dimensions: those of the outputs, then the others by what has
        them."""
        outputs = [axis for o in self._graph.outputs for axis in self._axes(o.value)]
        first = list(dict.fromkeys(d for axis in outputs for d in axis.dims))
        uses: dict[int, list[Form]] = {d: [] for d in self._graph.every_dim}
        for value in values:
            for place, axis in enumerate(self._axes(value)):
                for dim, step in axis.terms:
                    uses[dim].append((values[value], place, step))
        forms: dict[int, Form] = {
            d: (first.index(d),) if d in first else (len(first), sorted(used))
            for d, used in uses.items()
        }
        return _ranks(forms)

    def _axes(self, value: int) -> tuple[IndexMap, ...]:
        return self._graph.axes(value)

    def _color_values(self, readers: dict[int, Form]) -> None:
        """Number the values of each level; those of deeper ones come first."""
        by_level = defaultdict(list)
        for value, level in self._levels.items():
            by_level[level].append(value)
        self._colors.clear()
        for level in sorted(by_level):
            forms = {v: (self._value(v), readers.get(v, ())) for v in by_level[level]}
            for value, rank in _ranks(forms).items():
                self._colors[value] = -level, rank

    def _value(self, value: int) -> Form:
        axes = self._axes(value)
        dims = [self._axis(axis) for axis in axes]
        chosen = self._chosen.get(value, self._graph.count)
        head = -len(dims_of(axes)), dims, value in self._graph.modes, chosen
        if not self._graph.is_node(value):
            return head
        node = self._graph.node(value)
        reduced = sorted(self._dims[d] for d in node.reduced)
        return *head, node.reduction, reduced, self._form(node.expression)

    def _axis(self, axis: IndexMap) -> Form:
        terms = sorted((self._dims[dim], step) for dim, step in axis.terms)
        return terms, axis.before, axis.after, axis.divisor, axis.halves

    def _readers(self) -> dict[int, Form]:
        """For each value where it is read."""
        readers: dict[int, list[Form]] = {v: [] for v in range(self._graph.count)}

        def visit(expression: Expression, path: Form) -> None:
            if isinstance(expression, Reference):
                readers[expression.value].append(path)
            elif isinstance(expression, Call):
                commutes = expression.function in COMMUTATIVE
                for place, argument in enumerate(expression.arguments):
                    other = expression.arguments[1 - place] if commutes else None
                    beside = () if other is None else self._form(other)
                    step = expression.function, 0 if commutes else place, beside
                    visit(argument, (*path, step))

        for value in self._graph.node_values:
            visit(self._graph.node(value).expression, (self._colors[value],))
        return {value: tuple(sorted(paths)) for value, paths in readers.items()}


def _ranks(forms: dict[int, Form]) -> dict[int, int]:
    """The place of each form among all that there are."""
    order: list[Form] = []
    for form in sorted(forms.values()):
        if not order or order[-1] != form:
            order.append(form)
    return {key: order.index(form) for key, form in forms.items()}

"""Instructions of `graph_rows`: of a node, and of what is loaded and stored."""

from morello.cost.counts import Ops, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.elements import CountedElements
from morello.kernels.graph.shape import step_of
from morello.machine.isa import Isa
from morello.spec import Dtype, SpecKey
from morello.spec.elements.dtypes import computed_in
from morello.spec.frame import Frame
from morello.spec.functions import BYTE_WORDS, FUNCTIONS, INTEGER
from morello.spec.graphs.expression import Call, Expression, Reference
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass

_SHUFFLES = 2
"""Shuffles that bring every second lane of two vectors together."""


class Moves:
    """Loads, stores and casts of one vector of each operand."""

    def __init__(
        self, frame: Frame, graph: Graph, inner: int, narrow: dict[int, Dtype]
    ) -> None:
        number = computed_in(frame.key.dtypes)
        plan = one_pass(graph)
        assert plan is not None
        across = bool(plan.reduced) and inner not in plan.reduced
        self.vector: Ops = {}
        self.late: Ops = {}
        """After each reduction."""
        self.casts: dict[int, Ops] = {}
        """The inputs that are loaded before, and what casts each of these."""
        self.stores = 0
        values = frame.key.kind.values
        for value, tensor in zip(values, frame.key.tensors, strict=True):
            if inner not in graph.dims_of(value):
                continue
            reads = not graph.is_node(value)
            in_memory = not tensor.level.is_registers
            held = narrow.get(value, number)
            cast = cast_ops((tensor.dtype, held) if reads else (held, tensor.dtype))
            if reads and not (across and not graph.dims_of(value) & plan.reduced):
                apart = (step_of(graph, value, inner) - 1) * _SHUFFLES
                self.vector = add(self.vector, {"shuffle": apart} if apart else {})
                if in_memory:
                    self.casts[value] = cast
                else:
                    self.vector = add(self.vector, cast)
            elif reads or value in plan.late:
                moved: Ops = {"load": reads or graph.modes[value], "store": not reads}
                self.late = add(self.late, cast, times(moved, int(in_memory)))
            else:
                self.vector = add(self.vector, cast)
                self.stores += in_memory


def counted_node(
    graph: Graph, value: int, inner: int, isa: Isa, number: Dtype, stored: Dtype | None
) -> CountedElements:
    """The operations of a node: where it has vectors, without those on values that a
    row has one of, which are carried out once a row.

    Args:
        stored: the dtype that it is rounded to where it is stored.
    """
    counted = CountedElements(number, isa=isa)
    node = graph.node(value)
    every = inner not in graph.dims_of(value) | {*node.reduced}

    def is_wide(expression: Expression) -> bool:
        if not isinstance(expression, Call):
            is_read = isinstance(expression, Reference)
            counted.reads += is_read
            return every or (
                isinstance(expression, Reference)
                and inner in graph.dims_of(expression.value)
            )
        parts = [is_wide(argument) for argument in expression.arguments]
        wide = any(parts)  # all of them are visited
        if wide:
            count, function = FUNCTIONS[expression.function]
            code = function if number.is_float else INTEGER[expression.function]
            code(counted, *[None] * count)
        return wide

    match node.expression:
        case Call(_, (inside,)) if stored in BYTE_WORDS:
            is_wide(inside)
            counted.convert(BYTE_WORDS[stored](counted, None), Dtype.S32, stored)
        case Call(_, (inside,)) if stored is not None:
            is_wide(inside)
            counted.convert(None, number, stored)
        case expression:
            is_wide(expression)
    return counted


def operations_of(key: SpecKey, graph: Graph, inner: int, isa: Isa) -> int:
    """The instructions of one vector of a row: loads, operations and stores."""
    number = computed_in(key.dtypes)
    nodes = (
        counted_node(graph, v, inner, isa, number, None) for v in graph.node_values
    )
    moved = sum(inner in graph.dims_of(value) for value in key.kind.values)
    return moved + sum(node.operations for node in nodes)

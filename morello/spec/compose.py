"""Compose: a graph of reductions and maps (`morello/spec/graphs`), as one Spec."""

import dataclasses
import functools
import math
from functools import cache, lru_cache
from typing import Any, ClassVar

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.elements.arrays import ArrayElements
from morello.spec.elements.dtypes import BYTES, FLOAT_NAMES, Dtype, computed_in
from morello.spec.elements.operations import Elements
from morello.spec.functions import INTEGER
from morello.spec.graphs import loops as rule
from morello.spec.graphs.evaluate import evaluate
from morello.spec.graphs.expression import (
    Call,
    Constant,
    SizeNumber,
    call_count,
    computed,
    paired,
    parts,
    stored,
)
from morello.spec.graphs.graph import Graph, canonical, with_sizes
from morello.spec.graphs.products import may_flush
from morello.spec.graphs.text import parse_canonical
from morello.spec.kind import Arrays, Dtypes, Kind, Reform, Sizes
from morello.spec.mixes import summed_whole
from morello.spec.operand import Operand
from morello.spec.text.graphs import print_graph, value_name
from morello.spec.text.labels import label_of


@functools.total_ordering
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Compose(Kind):
    """A graph in its canonical form: the outputs from the inputs.

    Floats are computed in f32: maps operation by operation, sums in any order; a sum
    that overwrites begins at +0. What is in bf16 or f16 is widened when it is read and
    rounded when it is written. Integers are s32 and wrap around; so are products of
    bytes that are added up before maps of floats. Where it is flushing, products of two
    values in bf16, which are inputs or are rounded to it, may take denormals for zero,
    as those of `Matmul` may.
    """

    name: ClassVar[str] = "compose"
    example: ClassVar[str] = "softmax:8x33:f32"
    is_variadic: ClassVar[bool] = True

    graph: Graph
    """In its canonical form. Graphs of one text are equal."""
    flushing: bool = dataclasses.field(default=False, metadata={"optional": True})
    """Whether denormals may count as zero in products of narrow floats."""

    def __post_init__(self) -> None:
        parse_canonical(self.text)  # refuses what is no graph
        if self.flushing and not may_flush(self.graph):
            raise SpecError(
                f"{self.label} has no product that flushes",
                "leave flushing=true out, or write products of inputs or of values "
                "that are narrow_bf16 or round_bf16 of something",
            )

    @cached_property
    def text(self) -> str:
        """The graph as text."""
        return print_graph(self.graph)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Compose) or self.flushing is not other.flushing:
            return False
        return self.text == other.text

    def __lt__(self, other: "Compose") -> bool:
        return (self.text, self.flushing) < (other.text, other.flushing)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        flushing = ", flushing=True" if self.flushing else ""
        return f"Compose(graph={self.text!r}{flushing})"

    @classmethod
    def of(cls, graph: Graph, flushing: bool = False) -> "Compose":
        """The kind of a graph that is canonical; it flushes only where it can."""
        return _composed(graph, flushing and may_flush(graph))

    @cached_property
    def label(self) -> str:
        """The name of a graph of one node that has one, for messages."""
        named = label_of(self.text, ())
        return self.name if named is None else named[0]

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions: ``d0``, ``d1``, …"""
        return tuple(f"d{i}" for i in range(self.graph.rank))

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The inputs ``x0``, … and the outputs, which are called as their nodes are."""
        return _operands(self.graph)

    @property
    def as_graph(self) -> Graph:
        """The graph."""
        return self.graph

    @property
    def has_element(self) -> bool:
        """A reduction of functions of elements does; maps are as other graphs are."""
        return self.graph.visits_once and bool(self.reductions)

    @property
    def is_map(self) -> bool:
        """Whether it is one map of inputs that have all of its dimensions."""
        return self.graph.visits_once and not self.reductions

    @property
    def values(self) -> tuple[int, ...]:
        """The value of the graph that each operand is."""
        return self.graph.operands

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The dimensions that a node reduces."""
        return tuple(sorted({d for node in self.graph.nodes for d in node.reduced}))

    def loops(self, dim: int) -> bool:
        """Whether tiles along a dimension are Specs of the same graph."""
        return rule.loops(self.graph, dim)

    @cached_property
    def reform(self) -> Reform | None:
        """The graph that adds to what its outputs hold: maxima inside are outputs."""
        graph = rule.accumulating(self.graph)
        if graph is None:
            return None
        part = canonical(graph)
        kind = Compose.of(part.graph, self.flushing)
        place = {value: i for i, value in enumerate(self.values)}
        operands = tuple(place.get(part.values[v], -1) for v in kind.values)
        return Reform(kind, part.dims, operands)

    def as_flushing(self, dtypes: tuple[Dtype, ...]) -> Kind:
        """`Kind.as_flushing`."""
        if not computed_in(dtypes).is_float:
            return self
        pairs = zip(self.values, dtypes, strict=True)
        narrow = {value for value, dtype in pairs if dtype.is_upper_half}
        return Compose.of(self.graph, may_flush(self.graph, narrow))

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """f32, or a narrow float for inputs and for outputs that are maps; or s32.
        Inputs may be integers that widen to that."""
        count = len(self.graph.inputs)
        rounded = [i >= count and self._is_byte(i, d) for i, d in enumerate(dtypes)]
        floats = any(rounded) or any(dtype.is_float for dtype in dtypes)
        number = Dtype.F32 if floats else Dtype.S32
        wrong = next(
            (
                dtype
                for i, dtype in enumerate(dtypes)
                if dtype is not number
                and not rounded[i]
                and not (dtype.is_float and number.is_float)
                and not (i < count and dtype.is_read_as(number))
            ),
            None,
        )
        if wrong is not None:
            raise SpecError(
                f"{self.label} has no dtype {wrong}",
                f"use {FLOAT_NAMES}, or s32 alone; inputs may be {_NARROW}, too, and "
                "outputs u8 or s8 that are round_u8 or round_s8 of something",
            )
        for operand, dtype in zip(self.operands, dtypes, strict=True):
            if dtype is not Dtype.U8 and any(axis.halves for axis in operand.axes):
                raise SpecError(
                    f"'{operand.name}' of {self.label} has two numbers in a byte, and "
                    f"the dtype {dtype}",
                    "use u8: the halves are numbers from 0 to 15",
                )
        if not number.is_float:
            if self.flushing:
                raise SpecError(
                    f"{self.label} has no flushing product of integers",
                    "flushing=true goes with floats",
                )
            self._check_integers()
            return
        graph = self.graph
        sums = [graph.is_node(v) and not graph.is_map(v) for v in self.values]
        right = [
            Dtype.F32 if reduces else dtype
            for dtype, reduces in zip(dtypes, sums, strict=True)
        ]
        wrong_at = next((i for i, d in enumerate(dtypes) if d is not right[i]), None)
        if wrong_at is not None:
            raise SpecError(
                f"'{self.operands[wrong_at].name}' of {self.label} is a reduction, "
                f"which has no {dtypes[wrong_at]}: it is computed and written in f32",
                f"write the dtypes {','.join(map(str, right))}, or make it a map of "
                "another node",
            )

    def _is_byte(self, operand: int, dtype: Dtype) -> bool:
        """Whether an output is one of bytes that a map rounds to it."""
        node = self.graph.node(self.values[operand])
        call = node.expression
        is_rounded = isinstance(call, Call) and call.function == dtype.rounding
        return dtype in BYTES and is_rounded and not node.reduced

    def _check_integers(self) -> None:
        """Refuse functions and numbers that are for floats alone."""
        for node in self.graph.nodes:
            for part in parts(node.expression):
                if isinstance(part, Call) and part.function not in INTEGER:
                    raise SpecError(
                        f"'{part.function}' is no function of s32",
                        f"those are {', '.join(INTEGER)}; or use {FLOAT_NAMES}",
                    )
                if isinstance(part, SizeNumber):
                    raise SpecError(
                        "a number that follows from a size is none of s32",
                        f"settle the size, or use {FLOAT_NAMES}",
                    )
                if isinstance(part, Constant) and not _is_s32(part.number):
                    raise SpecError(
                        f"the number {part.number} is none of s32",
                        f"write a whole one, or use {FLOAT_NAMES}",
                    )

    def flops(self, sizes: tuple[int, ...]) -> int:
        """One for each function of each element, and for each term of a reduction."""
        total = 0
        for node in self.graph.nodes:
            dims = (*node.axes, *node.reduced)
            each = call_count(node.expression) + bool(node.reduced)
            extents = [sizes[d] for d in dims]
            total += each * math.prod(extents)
        return total

    def evaluate(self, sizes: Sizes, dtypes: Dtypes, arrays: Arrays) -> Arrays:
        """Evaluates the graph on arrays (`morello.spec.graphs.evaluate`)."""
        read = [d for d, o in zip(dtypes, self.operands, strict=True) if o.is_read]
        elements, number = ArrayElements(()), computed_in(dtypes)
        wide = [
            elements.convert(array, dtype, number)
            for array, dtype in zip(arrays, read, strict=True)
        ]
        whole = summed_whole(self, dtypes)
        results = evaluate(self.graph, sizes, wide, number, whole)
        return tuple(
            elements.convert(array, number, dtypes[out])
            for array, out in zip(results, self.written, strict=True)
        )

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """Element of a graph of one node, computed from one element of each input."""
        (node,), number = self.graph.nodes, computed_in(dtypes)

        @cache
        def read(operand: int) -> Any:
            return elements.convert(elements.read(operand), dtypes[operand], number)

        if not node.reduced:
            return stored(node.expression, elements, read, number, dtypes[-1])
        result = computed(node.expression, elements, read, number)
        held = read(len(self.graph.inputs))
        result = paired(elements, node.reduction, number, held, result)
        return elements.convert(result, number, dtypes[-1])


def kind_of_call(kind: Kind, sizes: tuple[int, ...]) -> Kind:
    """The kind with the numbers that follow from the sizes of a call, if it has any."""
    graph = kind.as_graph
    if graph is None or not graph.call_sizes:
        return kind
    part = canonical(with_sizes(graph, sizes.__getitem__))
    return Compose.of(part.graph, kind.flushing)


_NARROW = ", ".join(str(d) for d in Dtype if d.widens_to(Dtype.S32))
"""The integers that inputs may have beside those of the outputs."""


@lru_cache(maxsize=65536)
def _composed(graph: Graph, flushing: bool) -> Compose:
    return Compose(graph, flushing)


@lru_cache(maxsize=65536)
def _operands(graph: Graph) -> tuple[Operand, ...]:
    inputs = (
        Operand(value_name(graph, v), axes, is_read=True, is_written=False)
        for v, axes in enumerate(graph.inputs)
    )
    outputs = (
        Operand(
            value_name(graph, out.value),
            graph.axes(out.value),
            is_read=out.accumulates,
            is_written=True,
        )
        for out in graph.outputs
    )
    return (*inputs, *outputs)


def _is_s32(number: float) -> bool:
    return number == number // 1 and -(2.0**31) <= number < 2.0**31

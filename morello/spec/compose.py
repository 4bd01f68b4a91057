"""Compose: a graph of reductions and maps (`morello/spec/graphs`), as one Spec."""

import dataclasses
import functools
import math
from functools import cache, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.elements.arrays import ArrayElements
from morello.spec.elements.dtypes import FLOAT_NAMES, Dtype, computed_in
from morello.spec.elements.operations import Elements
from morello.spec.embedding import Embedding
from morello.spec.functions import INTEGER
from morello.spec.graphs import loops as rule
from morello.spec.graphs.convolution import few_sizes, products_inside
from morello.spec.graphs.evaluate import bounded, evaluate
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Reference,
    call_count,
    computed,
    paired,
    parts,
)
from morello.spec.graphs.graph import NEUTRAL, Graph, canonical
from morello.spec.graphs.labels import LABELS, label_of, labelled
from morello.spec.graphs.text import (
    parse_canonical,
    parse_graph,
    parse_named,
    print_graph,
    size_order,
    value_name,
)
from morello.spec.kind import (
    EXACT_BOUND,
    UNIT_ROUNDOFF,
    Array,
    Kind,
    Reform,
    bit_patterns,
    small_integers,
)
from morello.spec.operand import Operand
from morello.spec.spec import MAX_SIZE


@functools.total_ordering
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Compose(Kind):
    """A graph in its canonical form: the outputs from the inputs.

    Floats are computed in f32: maps operation by operation, sums in any order; a sum
    that overwrites begins at +0. What is in bf16 or f16 is widened when it is read and
    rounded when it is written. Integers are s32 and wrap around.
    """

    name: ClassVar[str] = "compose"
    example: ClassVar[str] = "softmax:8x33:f32"
    is_variadic: ClassVar[bool] = True

    graph: Graph
    """In its canonical form. Graphs of one text are equal."""

    def __post_init__(self) -> None:
        parse_canonical(self.text)  # refuses what is no graph

    @cached_property
    def text(self) -> str:
        """The graph as text."""
        return print_graph(self.graph)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compose) and self.text == other.text

    def __lt__(self, other: "Compose") -> bool:
        return self.text < other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Compose(graph={self.text!r})"

    @classmethod
    def of(cls, graph: Graph) -> "Compose":
        """The kind of a graph that is canonical."""
        return _composed(graph)

    @property
    def options(self) -> dict[str, str]:
        """The text of the graph."""
        return {"graph": self.text}

    @classmethod
    def labels(cls) -> tuple[str, ...]:
        """Labels of the text form: the kind's name, for any graph, and short names."""
        return (cls.name, *LABELS)

    @classmethod
    def from_text(cls, label: str, rank: int, options: dict[str, str]) -> Self:
        """The graph of the option ``graph``."""
        if "graph" not in options:
            raise SpecError(
                f"{label} needs the option graph=…",
                "write for example compose:8x33:f32:graph=y[m]=sum(x[m,n])",
            )
        return cls(canonical(parse_graph(options.pop("graph"))).graph)

    @classmethod
    def with_sizes(
        cls, label: str, sizes: tuple[int, ...], options: dict[str, str]
    ) -> tuple[Self, tuple[int, ...]]:
        """The kind of a label, and the sizes in the order of its dimensions."""
        for size in sizes:  # names divide by them
            if not 1 <= size < MAX_SIZE:
                raise SpecError(
                    f"size {size} of {label} is not between 1 and {MAX_SIZE - 1}"
                )
        if label in LABELS:
            label_graph = labelled(label, sizes, options)
            return cls(label_graph.graph), label_graph.sizes
        if "graph" not in options:
            return cls.from_text(label, len(sizes), options), sizes
        graph, names = parse_named(options.pop("graph"))
        if len(sizes) != len(names.dims):
            raise SpecError(
                f"the graph has {len(names.dims)} dimensions "
                f"({','.join(names.dims)}) but {len(sizes)} sizes",
                "give one for each, in this order",
            )
        part, order = canonical(graph), size_order(names)
        return cls(part.graph), tuple(sizes[order[d]] for d in part.dims)

    @cached_property
    def label(self) -> str:
        """The name of a graph of one node that has one, for messages."""
        named = label_of(self.text, ())
        return self.name if named is None else named[0]

    def short(self, sizes: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        """A short name, and sizes in its order; None where there is none."""
        return label_of(self.text, sizes)

    @classmethod
    def instances(cls) -> tuple[Self, ...]:
        """A function of one and of two values, and reductions of rows; all of it in a
        row; a product with more after it; several outputs; a map; columns; scales."""
        texts = (
            "y[r]=exp(x[r])",
            "y[r,n]=x[r,n]+z[r,n]",
            "y[r]=max(x[r,n])",
            "out y[r]+=min(x[r,n])",
            "out y[r]+=sum(x[r,n])",
            "m[r]=max(x[r,n]);p[r,n]=exp(x-m);l[r]=sum(p);i[r]=1.0/l;y[r,n]=p*i",
            "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t+c[n])",
            "out p[r,n]=exp(x[r,n]-m[r]);out l[r]+=sum(p)",
            "y[r,n]=x[r,n]*w[r]+b[n]",
            "out l[n]+=sum(x[m,n]*w[m])",
            "y[m,n]=sum(a[m,k]*(s[k//4,n]*q[k,n]))",
        )
        return tuple(cls(canonical(parse_graph(text)).graph) for text in texts)

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

    @cached_property
    def _visits_once(self) -> bool:
        """Whether it is one node that visits each element of its inputs once."""
        graph = self.graph
        if len(graph.nodes) > 1 or not graph.inputs:
            return False
        return all(
            len(axes) == graph.rank and all(axis.is_plain for axis in axes)
            for axes in graph.inputs
        )

    @property
    def has_element(self) -> bool:
        """A reduction of functions of elements does; maps are as other graphs are."""
        return self._visits_once and bool(self.reductions)

    @property
    def is_map(self) -> bool:
        """One node that reduces nothing, of inputs that have all of its dimensions."""
        return self._visits_once and not self.reductions

    def with_graph(self, graph: Graph) -> "Compose":
        """The graph as it is: it is canonical where this one is."""
        return Compose.of(graph)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """The value of the graph that each operand is."""
        graph = self.graph
        return (*range(len(graph.inputs)), *(out.value for out in graph.outputs))

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The dimensions that a node reduces."""
        return tuple(sorted({d for node in self.graph.nodes for d in node.reduced}))

    def loops(self, dim: int) -> bool:
        """Whether tiles along a dimension are Specs of the same graph."""
        return rule.loops(self.graph, dim)

    @property
    def accumulating(self) -> "Kind | None":
        """The graph whose reductions add to what their outputs hold."""
        reform = self.reform
        return None if reform is None else reform.kind

    @cached_property
    def reform(self) -> Reform | None:
        """`accumulating`: it has maxima inside as outputs of its own."""
        made = rule.accumulating(self.graph)
        if made is None:
            return None
        part = canonical(made)
        kind = Compose.of(part.graph)
        place = {value: i for i, value in enumerate(self.values)}
        operands = tuple(place.get(part.values[v], -1) for v in kind.values)
        return Reform(kind, part.dims, operands)

    @property
    def contractions(self) -> int:
        """Number of contractions in the graph."""
        return len(self.graph.contractions)

    def products(self, operand: int) -> tuple[tuple[Embedding, int], ...]:
        """The products that an operand is in, and which of their operands it is."""
        own = self.values[operand]
        return tuple(
            (inner, inner.values.index(own))
            for inner in products_inside(self.graph)
            if own in inner.values
        )

    def is_batch(self, dim: int) -> bool:
        """A dimension that every value has, beside others; of a convolution all but
        those of the product of matrices that it is made of."""
        return few_sizes(self.graph, dim) or self.is_common(dim)

    def is_common(self, dim: int) -> bool:
        """Whether something is a product and every value has a dimension, beside others
        and but for inputs of one dimension, as the places that a mask compares: two
        elements of it have nothing in common that would be worth keeping near.
        """
        graph = self.graph
        return (
            graph.rank > 1
            and bool(graph.contractions)
            and all(
                dim in graph.dims_of(v)
                or (len(graph.dims_of(v)) == 1 and not graph.is_node(v))
                for v in range(graph.count)
            )
        )

    def neutral_of(self, operand: int) -> str:
        """The neutral element of the reduction that an output is."""
        return NEUTRAL[self.graph.node(self.values[operand]).reduction]

    def rounded_terms(self, sizes: tuple[int, ...]) -> int:
        """The terms of its longest sum; 0 where nothing is summed."""
        longest = 0
        for node in self.graph.nodes:
            if node.reduction == "sum":
                terms = math.prod(sizes[d] for d in node.reduced)
                longest = max(longest, terms)
        return longest

    @property
    def _is_sum(self) -> bool:
        """Whether it is a sum of one input: exact, if that has small integers."""
        (first, *others) = self.graph.nodes
        alone = first.reduction == "sum" and isinstance(first.expression, Reference)
        return alone and not others

    def is_exact(self, sizes: tuple[int, ...]) -> bool:
        """Whether nothing is summed, or too few small integers to be rounded."""
        few = self.rounded_terms(sizes) * EXACT_BOUND <= 1 / UNIT_ROUNDOFF
        return not self.rounded_terms(sizes) or (self._is_sum and few)

    def reference(
        self, sizes: tuple[int, ...], arrays: tuple[Array, ...]
    ) -> tuple[tuple[Array, Array], ...]:
        """By a running error analysis."""
        return bounded(self.graph, sizes, arrays)

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """f32, or a narrow float for inputs and for outputs that are maps; or s32.
        Inputs may be integers that widen to that."""
        floats = any(dtype.is_float for dtype in dtypes)
        number, count = Dtype.F32 if floats else Dtype.S32, len(self.graph.inputs)
        wrong = next(
            (
                dtype
                for i, dtype in enumerate(dtypes)
                if dtype is not number
                and not (dtype.is_float and number.is_float)
                and not (i < count and dtype.is_read_as(number))
            ),
            None,
        )
        if wrong is not None:
            raise SpecError(
                f"{self.label} has no dtype {wrong}",
                f"use {FLOAT_NAMES}, or s32 alone; inputs may be {_NARROW}, too",
            )
        for operand, dtype in zip(self.operands, dtypes, strict=True):
            if dtype is not Dtype.U8 and any(axis.halves for axis in operand.axes):
                raise SpecError(
                    f"'{operand.name}' of {self.label} has two numbers in a byte, and "
                    f"the dtype {dtype}",
                    "use u8: the halves are numbers from 0 to 15",
                )
        if not number.is_float:
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
                f"which has no {dtypes[wrong_at]}: its terms are added in f32",
                f"write the dtypes {','.join(map(str, right))}, or make it a map of "
                "another node",
            )

    def _check_integers(self) -> None:
        """Refuse functions and numbers that are for floats alone."""
        for node in self.graph.nodes:
            for part in parts(node.expression):
                if isinstance(part, Call) and part.function not in INTEGER:
                    raise SpecError(
                        f"'{part.function}' is no function of s32",
                        f"those are {', '.join(INTEGER)}; or use {FLOAT_NAMES}",
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

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """Evaluates the graph on arrays (`morello.spec.graphs.evaluate`)."""
        read = [d for d, o in zip(dtypes, self.operands, strict=True) if o.is_read]
        elements, number = ArrayElements(()), computed_in(dtypes)
        wide = [
            elements.convert(array, dtype, number)
            for array, dtype in zip(arrays, read, strict=True)
        ]
        results = evaluate(self.graph, sizes, wide, number)
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

        result = computed(node.expression, elements, read, number)
        if node.reduced:
            held = read(len(self.graph.inputs))
            result = paired(elements, node.reduction, number, held, result)
        return elements.convert(result, number, dtypes[-1])

    def random(
        self,
        rng: np.random.Generator,
        dtypes: tuple[Dtype, ...],
        shapes: tuple[tuple[int, ...], ...],
    ) -> tuple[Array, ...]:
        """Numbers around 0, of deviation 1; any integers; small ones to be summed."""

        def array(dtype: Dtype, shape: tuple[int, ...]) -> Array:
            if not dtype.is_float:
                return bit_patterns(rng, dtype, shape)
            if self._is_sum:
                return small_integers(rng, dtype, shape)
            return rng.standard_normal(shape, np.float32).astype(dtype.numpy)

        return tuple(
            array(dtype, shape)
            for operand, dtype, shape in zip(self.operands, dtypes, shapes, strict=True)
            if operand.is_read
        )

    def followers(self, operand: int) -> tuple[int, ...]:
        """The operands that lie where this one does: they have some of its dimensions,
        and not all."""
        return tuple(i for i, at in enumerate(self._leaders) if at == operand != i)

    def leader(self, operand: int) -> int:
        """The operand that this one follows; itself if it leads."""
        return self._leaders[operand]

    @cached_property
    def _leaders(self) -> tuple[int, ...]:
        every = tuple(range(len(self.operands)))
        return every if self._visits_once else _leaders(self.graph)


_NARROW = ", ".join(str(d) for d in Dtype if d.widens_to(Dtype.S32))
"""The integers that inputs may have beside those of the outputs."""


@lru_cache(maxsize=65536)
def _composed(graph: Graph) -> Compose:
    return Compose(graph)


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


@lru_cache(maxsize=65536)
def _leaders(graph: Graph) -> tuple[int, ...]:
    """For each operand the first, outputs before inputs, of those of the most
    dimensions that have all of its own, and more; itself where there is none. What is
    read through windows leads none: the filter is to stay while the image moves on."""
    operands = _operands(graph)
    dims = [frozenset(operand.dims) for operand in operands]
    count = len(graph.inputs)
    order = [*range(count, len(dims)), *range(count)]

    def leader(own: int) -> int:
        larger = [i for i in order if dims[own] < dims[i] and operands[i].is_plain]
        largest = [i for i in larger if not any(dims[i] < dims[j] for j in larger)]
        return next(iter(largest), own)

    return tuple(leader(i) for i in range(len(dims)))


def _is_s32(number: float) -> bool:
    return number == number // 1 and -(2.0**31) <= number < 2.0**31

"""The text of graphs: ``s[q,k]=sum(Q[q,d]*K[k,d]);y[q,k]=exp(s)``.

Statements are joined by ``;``. Each defines a node; ``sum``, ``max`` and ``min`` of one
argument reduce it over the dimensions that the node lacks. An input is named by its
first use, which gives its axes; later the indices may be left out. An axis is a
dimension, or a window such as ``2*u+i``; ``pad(2*u+i,3,2)`` reaches 3 places before the
first element and 2 after the last, which are 0; ``k//32`` is the same place for 32
elements of k. ``out y[…]=`` makes a node an output, and ``out y[…]+=`` one that is
added to; a node that nothing reads is an output in any case. Expressions have
``+ - * /``, numbers, and the functions of `morello/spec/functions/`.
"""

import ast
import math
import re
from functools import lru_cache

from morello.errors import SpecError, shortened
from morello.spec.functions import FUNCTIONS
from morello.spec.graphs.expression import (
    FORMULAS,
    MOST_DEPTH,
    NUMBERS,
    Call,
    Constant,
    Expression,
    Reference,
    SizeNumber,
    references,
    renumbered,
)
from morello.spec.graphs.graph import MAP, NEUTRAL, Graph, Node, Output, canonical
from morello.spec.index_map import IndexMap, dims_of, plain_dims
from morello.spec.text.graphs import print_graph
from morello.suggestions import did_you_mean

MOST_TEXT = 4096
"""Characters of a graph: more is no graph of a few nodes."""

MOST_RANK = 12
"""Dimensions of a graph."""

MOST_VALUES = 24
"""Inputs and nodes of a graph."""

_STATEMENT = re.compile(
    r"\s*(?P<out>out\s+)?(?P<name>[A-Za-z_]\w*)\s*"
    r"\[(?P<axes>[^\]]*)\]\s*(?P<adds>\+)?=(?!=)(?P<body>.*)",
    re.ASCII | re.DOTALL,
)

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
}


class Names:
    """The names that a text gives to dimensions and values."""

    def __init__(self) -> None:
        self.dims: dict[str, int] = {}
        self.values: dict[str, int] = {}


def size_order(names: Names) -> tuple[int, ...]:
    """Index of each dimension's size in a list of sizes: dimensions called d0, d1, … by
    their number, as they are printed, others in the order of their first use."""
    count = len(names.dims)
    if {*names.dims} == {f"d{i}" for i in range(count)}:
        return tuple(int(name[1:]) for name in names.dims)
    return tuple(range(count))


@lru_cache(maxsize=4096)
def parse_graph(text: str) -> Graph:
    """The graph written ``text``, values and dimensions in the order of their use.

    Raises:
        SpecError: the text is no graph; the message has the statement and the reason.
    """
    return parse_named(text)[0]


def parse_named(text: str) -> tuple[Graph, Names]:
    """The graph written ``text``, and its names: values count inputs, then nodes."""
    if len(text) > MOST_TEXT:
        raise SpecError(
            f"a graph of {len(text)} characters is too long",
            f"write at most {MOST_TEXT}",
        )
    if not text.isascii():
        wrong = next(char for char in text if not char.isascii())
        raise SpecError(
            f"the graph '{shortened(text, 60)}' has the character '{wrong}'",
            "write names in ASCII",
        )
    return _Reader().read(text)


def parse_number(text: str) -> SizeNumber | None:
    """The number that follows from the sizes of a call which a text is; None of other
    text."""
    try:
        number = _Reader().number(text)
    except SpecError:
        return None
    return number if isinstance(number, SizeNumber) else None


_GLUED = re.compile(r"\d(and|else|for|if|in|is|not|or)\b")
"""A keyword behind a number, of which Python's parser warns."""


class _Reader:
    """Reads the statements of a graph."""

    def __init__(self) -> None:
        self.dims: dict[str, int] = {}
        self.axes: dict[str, tuple[IndexMap, ...]] = {}
        """The axes of every value, by name."""
        self.inputs: list[str] = []
        self.nodes: dict[str, Node] = {}
        self.outputs: dict[str, bool] = {}
        self.read_names: set[str] = set()
        self.numbers: dict[str, int] = {}
        """The number of a name while statements are read: negative for nodes."""
        self.statement = ""
        self.offset = 0
        """Characters of the text before the statement."""
        self.depth = 0
        """Parentheses around the part of an expression that is read."""

    def read(self, text: str) -> tuple[Graph, Names]:
        """Parse the text of a graph."""
        end = 0
        for statement in text.split(";"):
            self.statement = statement.strip()
            self.offset = end + len(statement) - len(statement.lstrip())
            self._define()
            end += len(statement) + 1
        if len(self.axes) > MOST_VALUES or len(self.dims) > MOST_RANK:
            raise SpecError(
                f"the graph '{text[:60]}…' has {len(self.axes)} values and "
                f"{len(self.dims)} dimensions",
                f"use at most {MOST_VALUES} and {MOST_RANK}: cut it in parts",
            )
        return self._graph()

    def number(self, text: str) -> Expression:
        """Parse an expression that reads no value."""
        self.statement = text
        return self._expression(self._parsed(text))

    def _graph(self) -> tuple[Graph, Names]:
        order = [*self.inputs, *self.nodes]
        number = {name: i for i, name in enumerate(order)}
        known = {mark: number[name] for name, mark in self.numbers.items()}

        outputs = {n: False for n in self.nodes if n not in self.read_names}
        outputs |= self.outputs
        names = Names()
        names.dims, names.values = dict(self.dims), number
        graph = Graph(
            tuple(self.axes[name] for name in self.inputs),
            tuple(
                Node(n.axes, n.reduction, renumbered(n.expression, known), n.reduced)
                for n in self.nodes.values()
            ),
            tuple(sorted(Output(number[n], adds) for n, adds in outputs.items())),
        )
        return graph, names

    def _error(self, what: str, remedy: str = "") -> SpecError:
        statement = shortened(self.statement)
        error = SpecError(f"'{statement}' of a graph: {what}", remedy)
        error.offset = self.offset
        return error

    def _define(self) -> None:
        match = _STATEMENT.fullmatch(self.statement)
        if match is None:
            raise self._error(
                "this is no statement", "write for example y[m,n]=exp(x[m,n])"
            )
        name = match["name"]
        self._check_new(name)
        axes = self._parsed_axes(match["axes"])
        dims = self._output_dims(name, axes)
        reduction, expression = self._body(match["body"])
        self._check_new(name)  # it may not read itself
        self._check_dims(name, axes, reduction, expression)
        adds = bool(match["adds"])
        if adds and reduction == MAP:
            raise self._error(
                f"'{name}' is no reduction that could be added to",
                "write = for a map, which overwrites",
            )
        reduced = tuple(sorted(self._used(expression) - dims_of(axes)))
        self._name(name, axes, node=True)
        self.nodes[name] = Node(dims, reduction, expression, reduced)
        if match["out"] or adds:
            self.outputs[name] = adds

    def _check_new(self, name: str) -> None:
        if name in self.axes:
            raise self._error(
                f"'{name}' is defined already, or read before",
                "define each value once, before what reads it",
            )
        if name in FUNCTIONS or name in NEUTRAL:
            raise self._error(
                f"'{name}' is the name of a function", "call the value something else"
            )

    def _output_dims(self, name: str, axes: tuple[IndexMap, ...]) -> tuple[int, ...]:
        """The axes of a node, which are dimensions, each its own."""
        if not axes:
            raise self._error(
                f"'{name}' has no axes", "keep a dimension, which may be of size 1"
            )
        dims = plain_dims(axes)
        if len(set(dims)) < len(axes):
            raise self._error(
                f"'{name}' has an axis that is no dimension of its own",
                "index what is defined by different dimensions, without windows",
            )
        return dims

    def _check_dims(
        self,
        name: str,
        axes: tuple[IndexMap, ...],
        reduction: str,
        expression: Expression,
    ) -> None:
        output_dims = dims_of(axes)
        used = self._used(expression)
        reduced = used - output_dims
        if output_dims - used:
            lacking = next(n for n, d in self.dims.items() if d in output_dims - used)
            raise self._error(
                f"nothing that '{name}' reads has the dimension {lacking}",
                "leave it out, or read a value that has it",
            )
        if reduced and reduction == MAP:
            lacking = next(n for n, d in self.dims.items() if d in reduced)
            raise self._error(
                f"'{name}' lacks the dimension {lacking} of what it reads",
                "reduce it by sum(…), max(…) or min(…)",
            )
        if not reduced and reduction != MAP:
            raise self._error(
                f"'{name}' has every dimension of what {reduction} reduces",
                "leave out the dimension that is reduced",
            )

    def _name(self, name: str, axes: tuple[IndexMap, ...], node: bool) -> int:
        self.axes[name] = axes
        self.numbers[name] = len(self.numbers)
        if not node:
            self.inputs.append(name)
        return self.numbers[name]

    def _used(self, expression: Expression) -> frozenset[int]:
        read = {*references(expression)}
        names = (name for name, number in self.numbers.items() if number in read)
        return frozenset().union(*(dims_of(self.axes[name]) for name in names))

    def _parsed(self, text: str) -> ast.expr:
        try:
            if _GLUED.search(text):
                raise SyntaxError
            return ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            wrong = shortened(text.strip())
            raise self._error(
                f"'{wrong}' is no expression", "write for example sum(a[m,k]*b[k,n])"
            ) from None

    def _parsed_axes(self, text: str) -> tuple[IndexMap, ...]:
        if not text.strip():
            return ()
        tree = self._parsed(f"({text},)")
        return self._axes(tree)

    def _axes(self, tree: ast.expr) -> tuple[IndexMap, ...]:
        parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        return tuple(self._axis(part) for part in parts)

    def _axis(self, tree: ast.expr) -> IndexMap:
        terms: dict[int, int] = {}
        match tree:
            case ast.Call(ast.Name("pad"), [inner, before, after], []):
                self._terms(inner, terms)
                around = self._padding(before), self._padding(after)
                return IndexMap(tuple(terms.items()), *around)
            case ast.BinOp(ast.Name(name), ast.FloorDiv(), ast.Constant(int() as by)):
                self._check_factor(by, f"the divisor {by} of {name}", "divisors")
                self._term(name, 1, terms)
                return IndexMap(tuple(terms.items()), divisor=by)
            case ast.BinOp(ast.Name(name), ast.Div(), ast.Constant(2)):
                self._term(name, 1, terms)
                return IndexMap(tuple(terms.items()), divisor=2, halves=True)
        self._terms(tree, terms)
        return IndexMap(tuple(terms.items()))

    def _terms(self, tree: ast.expr, terms: dict[int, int]) -> None:
        parts: list[ast.expr] = []
        while isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
            parts.append(tree.right)
            tree = tree.left
        for part in (tree, *reversed(parts)):
            self._part(part, terms)

    def _part(self, tree: ast.expr, terms: dict[int, int]) -> None:
        match tree:
            case ast.BinOp(ast.Constant(int() as step), ast.Mult(), ast.Name(name)):
                self._term(name, step, terms)
            case ast.Name(name):
                self._term(name, 1, terms)
            case _:
                raise self._error(
                    f"'{_unparsed(tree)}' is no axis",
                    "write a dimension, a window such as 2*u+i, k//32, or k/2",
                )

    def _padding(self, tree: ast.expr) -> int:
        match tree:
            case ast.Constant(int() as count) if 0 <= count < 1 << 20:
                return count
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as count)):
                return -min(count, 1 << 20)
        raise self._error(
            f"'{_unparsed(tree)}' is no number of places",
            f"write 0 to {(1 << 20) - 1}, or a negative one to reach less far",
        )

    def _check_factor(self, factor: int, what: str, many: str) -> None:
        if not 1 <= factor < 1 << 20:
            raise self._error(what, f"{many} are 1 to {(1 << 20) - 1}")

    def _term(self, name: str, step: int, terms: dict[int, int]) -> None:
        self._check_factor(step, f"the step {step} of {name} in a window", "steps")
        dim = self.dims.setdefault(name, len(self.dims))
        if dim in terms:
            raise self._error(
                f"a window has the dimension {name} twice", "write one step, as 2*u"
            )
        terms[dim] = step

    def _body(self, text: str) -> tuple[str, Expression]:
        tree = self._parsed(text)
        match tree:
            case ast.Call(ast.Name(name), [inner], []) if name in NEUTRAL:
                return name, self._expression(inner)
        return MAP, self._expression(tree)

    def _expression(self, tree: ast.expr) -> Expression:
        self.depth += 1
        if self.depth > MOST_DEPTH + 1:  # a value or a number is in the innermost
            raise self._error(
                f"more than {MOST_DEPTH} calls and signs are within each other",
                "define a node for a part",
            )
        expression = self._read_tree(tree)
        self.depth -= 1
        return expression

    def _read_tree(self, tree: ast.expr) -> Expression:
        match tree:
            case ast.Constant(bool()):
                raise self._error(
                    f"'{ast.unparse(tree)}' is no number", "write 1.0 or 0.0"
                )
            case ast.Constant(int() | float() as number):
                return self._number(number)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return self._number(-number)
            case ast.Name("inf") | ast.UnaryOp(ast.USub(), ast.Name("inf")):
                return Constant(math.copysign(math.inf, -isinstance(tree, ast.UnaryOp)))
            case ast.UnaryOp(ast.USub(), inner):
                return Call("neg", (self._expression(inner),))
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                arguments = self._expression(left), self._expression(right)
                return _called(_OPERATORS[type(operator)], arguments)
            case ast.Call(ast.Name(name), arguments, []):
                return self._call(name, arguments)
            case ast.Subscript(ast.Name(name), index):
                return self._read(name, self._axes(index))
            case ast.Name(name):
                return self._read(name, None)
        raise self._error(
            f"'{_unparsed(tree)}' is no expression of a graph",
            "use + - * /, numbers, values and functions",
        )

    def _number(self, number: float) -> Constant:
        try:
            value = float(number)
        except OverflowError:
            value = math.inf if number > 0 else -math.inf
        if not math.isfinite(value) or abs(value) > _LARGEST:
            raise self._error(
                f"the number {value:.3g} is none of f32",
                f"the largest is {_LARGEST:.8g}",
            )
        return Constant(value)

    def _call(self, name: str, arguments: list[ast.expr]) -> Expression:
        match name, arguments:
            case "size", [ast.Name(of) | ast.Constant(int() as of)]:
                return SizeNumber("size", (of,))
        name = {"max": "maximum", "min": "minimum"}.get(name, name)
        if name not in FUNCTIONS or FUNCTIONS[name][0] != len(arguments):
            raise self._no_call(name, len(arguments))
        return _called(name, tuple(map(self._expression, arguments)))

    def _no_call(self, name: str, count: int) -> SpecError:
        if name in ("sum", "maximum", "minimum") and count == 1:
            return self._error(
                "a reduction stands outermost in a node of its own",
                "define a node by it, as t[m]=sum(x[m,n]), and read that",
            )
        if name in FUNCTIONS:
            takes = FUNCTIONS[name][0]
            return self._error(
                f"'{name}' takes {takes} value{'s' * (takes > 1)}, not {count}"
            )
        if name == "size":
            return self._error("'size' takes a dimension", "name one, as size(n)")
        known = [*FUNCTIONS]
        return self._error(
            f"there is no function '{name}'",
            f"use one of {', '.join(known)}{did_you_mean(name, known)}",
        )

    def _read(self, name: str, axes: tuple[IndexMap, ...] | None) -> Reference:
        known = self.axes.get(name)
        if known is None:
            if axes is None:
                raise self._error(
                    f"'{name}' has no axes",
                    f"give them where it is first read, as {name}[m,n]",
                )
            if name in FUNCTIONS or name in NEUTRAL:
                raise self._error(
                    f"'{name}' is the name of a function",
                    f"call it, as {name}(…), or call the value something else",
                )
            self._name(name, axes, node=False)
        elif axes is not None and axes != known:
            raise self._error(
                f"'{name}' has other axes elsewhere",
                "read it with the same, or leave the axes out",
            )
        self.read_names.add(name)
        return Reference(self.numbers[name])


def _called(function: str, arguments: tuple[Expression, ...]) -> Expression:
    """A call; of numbers alone that follow from sizes, one such number."""
    numbers = [a for a in arguments if isinstance(a, NUMBERS)]
    follow = any(isinstance(a, SizeNumber) for a in numbers)
    if not follow or len(numbers) < len(arguments) or function not in FORMULAS:
        return Call(function, arguments)
    operands = (a.number if isinstance(a, Constant) else a for a in numbers)
    return SizeNumber(function, tuple(operands))


_LARGEST = 3.4028234663852886e38


def _unparsed(tree: ast.expr) -> str:
    try:
        return shortened(ast.unparse(tree))
    except (RecursionError, ValueError):
        return "…"


@lru_cache(maxsize=65536)
def parse_canonical(text: str) -> Graph:
    """The canonical graph that a text is.

    Raises:
        SpecError: it is no graph, or another text is its canonical form.
    """
    graph = canonical(parse_graph(text)).graph
    plain = print_graph(graph)
    if plain != text:
        raise SpecError(
            f"the graph '{text[:80]}' is not in canonical form", f"write {plain}"
        )
    return graph

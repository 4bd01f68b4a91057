"""Text of graphs as it is printed; `morello/spec/graphs/text.py` reads it."""

from morello.spec.graphs.expression import Constant, Expression, Reference, SizeNumber
from morello.spec.graphs.graph import MAP, Graph
from morello.spec.index_map import IndexMap

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def print_graph(graph: Graph) -> str:
    """The text that `parse_graph` reads back: inputs x0, …, nodes v0, …, dimensions
    d0, …"""
    return _Printer(graph).text()


class _Printer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.seen: set[int] = set()

    def text(self) -> str:
        """Statements of the graph, one for each node, with ``;`` between them."""
        return ";".join(map(self._statement, self.graph.node_values))

    def _statement(self, value: int) -> str:
        node, mode = self.graph.node(value), self.graph.modes.get(value)
        body = self._expression(node.expression, whole=True)
        if node.reduction != MAP:
            body = f"{node.reduction}({body})"
        out = "" if mode is None else "out "
        axes = self._axes(value)
        return (
            f"{out}{value_name(self.graph, value)}{axes}{'+=' if mode else '='}{body}"
        )

    def _axes(self, value: int) -> str:
        return f"[{','.join(map(axis_text, self.graph.axes(value)))}]"

    def _expression(self, expression: Expression, whole: bool = False) -> str:
        if isinstance(expression, Constant):
            return repr(expression.number)
        if isinstance(expression, SizeNumber):
            return number_text(expression)
        if isinstance(expression, Reference):
            value = expression.value
            name = value_name(self.graph, value)
            if self.graph.is_node(value) or value in self.seen:
                return name
            self.seen.add(value)
            return name + self._axes(value)
        parts = [self._expression(a) for a in expression.arguments]
        sign = _SIGNS.get(expression.function)
        if sign is not None:
            text = f"{parts[0]}{sign}{parts[1]}"
            return text if whole else f"({text})"
        parts = [self._stripped(part) for part in parts]
        return f"{expression.function}({','.join(parts)})"

    @staticmethod
    def _stripped(text: str) -> str:
        """The text without parentheses around the whole."""
        if not (text.startswith("(") and text.endswith(")")):
            return text
        depth = 0
        for place, sign in enumerate(text):
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if not depth and place < len(text) - 1:
                return text
        return text[1:-1]


def number_text(number: SizeNumber) -> str:
    """The formula of a number: ``(1.0/size(0))``."""

    def operation(function: str, *operands: str) -> str:
        sign = _SIGNS.get(function)
        return (
            f"({sign.join(operands)})" if sign else f"{function}({','.join(operands)})"
        )

    text: str = number.computed("size({})".format, repr, operation)
    return text


def value_name(graph: Graph, value: int) -> str:
    """Name of a value in the text form: x0, … for inputs, v0, … for nodes."""
    if graph.is_node(value):
        return f"v{value - len(graph.inputs)}"
    return f"x{value}"


def axis_text(axis: IndexMap) -> str:
    """Text form of an axis."""
    terms = (f"d{dim}" if step == 1 else f"{step}*d{dim}" for dim, step in axis.terms)
    text = "+".join(terms) + (f"//{axis.divisor}" if axis.is_divided else "")
    if axis.halves:
        return text.replace("//", "/")
    return f"pad({text},{axis.before},{axis.after})" if axis.is_padded else text

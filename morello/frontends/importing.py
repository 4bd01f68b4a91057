"""A function of linalg on tensors to a DAG of tensors (`Tensors`).

`imported` is the entry point. Every op that has no place there is noted, and what
depends on it is left out, so that one try finds all of them.
"""

import dataclasses
import math
from typing import Any

import ml_dtypes
import numpy as np

from morello.frontends import bodies
from morello.frontends.bodies import Element, body_elements, constant, is_number
from morello.frontends.reading import dynamic
from morello.frontends.refusals import ModelError, OpError, Refusal, place_of
from morello.frontends.simplify import simplified
from morello.frontends.tensors import (
    ONE,
    Access,
    Given,
    Node,
    Tensors,
    View,
    substituted,
    window_of,
)
from morello.mlir import ir
from morello.spec.dtypes import Dtype
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.operand import Axis, Window

_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min"}
_NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf}
_MERGE = {"sum": "add", "max": "maximum", "min": "minimum"}

_OUT = -1
"""The reference to what a reduction holds so far."""


@dataclasses.dataclass(frozen=True)
class _Read:
    """A tensor of the program: another one through axes."""

    tensor: int
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Same:
    """A tensor of one number, or one whose elements nobody has written."""

    number: bodies.Number
    shape: tuple[int, ...]


_Known = _Read | _Same | None
"""What a value is; None where it was refused."""


def imported(function: ir.Operation, source: str) -> Tensors:
    """The tensors of a function.

    Args:
        function: a ``func.func`` whose ops are `linalg.generic`, views and constants.
        source: the name of the file, for messages.

    Raises:
        ModelError: ops that have no place in a graph, all of them.
    """
    return _Importer(function, source).run()


class _Importer:
    def __init__(self, function: ir.Operation, source: str) -> None:
        self.function = function
        self.source = source
        name = ir.StringAttr(function.attributes["sym_name"]).value
        self.tensors = Tensors(name)
        self.known: dict[ir.Value, _Known] = {}
        self.refusals: list[Refusal] = []

    def run(self) -> Tensors:
        block = self.function.regions[0].blocks[0]
        for argument in block.arguments:
            self._guarded(self.function, lambda a=argument: self._argument(a))
        for op in block.operations:
            self._guarded(op.operation, lambda o=op.operation: self._op(o))
        if self.refusals:
            raise ModelError(tuple(self.refusals))
        return self.tensors

    def _guarded(self, op: ir.Operation, step: Any) -> None:
        """Do a step; note what it refuses, unless an operand was refused before."""
        try:
            step()
        except _MissingError:
            self._lose(op)
        except OpError as error:
            place = place_of(error.location or op.location, self.source)
            self.refusals.append(Refusal(op.name, place, error.reason, error.remedy))
            self._lose(op)

    def _lose(self, op: ir.Operation) -> None:
        if op.name != "func.func":
            self.known |= dict.fromkeys(op.results)

    def _place(self, op: ir.Operation) -> str:
        return place_of(op.location, self.source)

    def _argument(self, argument: ir.BlockArgument) -> None:
        self.known[argument] = None
        number = argument.arg_number
        name = f"arg{number}"
        self.tensors.names.append(name)
        shape, dtype = _type(argument.type, name)
        given = Given(name, shape, dtype, number)
        self._define(argument, self.tensors.add(given), shape)

    def _define(self, value: ir.Value, tensor: int, shape: tuple[int, ...]) -> None:
        axes = tuple(i if n > 1 else ONE for i, n in enumerate(shape))
        self.known[value] = _Read(tensor, axes, shape)

    def _get(self, value: ir.Value) -> _Read | _Same:
        found = self.known.get(value)
        if found is None:
            raise _MissingError
        return found

    def _op(self, op: ir.Operation) -> None:
        match op.name:
            case "arith.constant":
                self._constant(op)
            case "tensor.empty":
                self.known[op.results[0]] = _Same(0, _shape(op.results[0]))
            case "linalg.generic":
                self._generic(op)
            case "tensor.collapse_shape" | "tensor.expand_shape" | "tensor.reshape":
                self._view(op)
            case "tensor.cast":
                self.known[op.results[0]] = self._get(op.operands[0])
            case "tensor.pad":
                self._pad(op)
            case "tensor.extract":
                self._extract(op)
            case "tensor.from_elements":
                self._from_elements(op)
            case "func.return":
                self._return(op)
            case _:
                self._scalar(op)

    def _scalar(self, op: ir.Operation) -> None:
        """An op on numbers outside of any body."""
        refused = next(
            (r for v in (*op.operands, *op.results) if (r := dynamic(v.type))), None
        )
        if refused is not None:
            raise refused
        if op.name.startswith(("arith.", "math.")) and len(op.results) == 1:
            operands = [self._number(value) for value in op.operands]
            found = bodies.computed_element(op, operands)
            if is_number(found):
                self.known[op.results[0]] = _Same(found, ())  # type: ignore[arg-type]
                return
        raise OpError(*_why(op))

    def _number(self, value: ir.Value) -> Element:
        found = self._get(value)
        if isinstance(found, _Read):
            raise OpError(
                "its operand is known only when the program runs, and it is no "
                "function of elements",
                "compute it outside of the program",
            )
        return found.number

    def _constant(self, op: ir.Operation) -> None:
        value = op.attributes["value"].maybe_downcast()
        result = op.results[0]
        if not isinstance(result.type.maybe_downcast(), ir.RankedTensorType):
            self.known[result] = _Same(bodies.number_of(value), ())
            return
        shape = _shape(result)
        if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            number = bodies.number_of(value.get_splat_value())
            self.known[result] = _Same(number, shape)
            return
        if isinstance(value, ir.DenseIntElementsAttr):
            shape, dtype = _shape(result), Dtype.F32
        else:
            shape, dtype = _type(result.type, "the constant")
        name = f"constant{sum(isinstance(t, Given) for t in self.tensors.all)}"
        array = _array(value, shape, dtype)
        given = Given(name, shape, dtype, -1, array)
        self._define(result, self.tensors.add(given), shape)

    def _view(self, op: ir.Operation) -> None:
        source = self._get(op.operands[0])
        result = op.results[0]
        shape = _shape(result)
        if isinstance(source, _Same):
            self.known[result] = _Same(source.number, shape)
            return
        wide = [n for n in shape if n > 1]
        if wide == [n for n in source.shape if n > 1]:
            # Axes of one element come and go: the same access with other names.
            places = iter(i for i, n in enumerate(shape) if n > 1)
            rename = {i: next(places) for i, n in enumerate(source.shape) if n > 1}
            axes = tuple(_renamed(axis, rename) for axis in source.axes)
            self.known[result] = _Read(source.tensor, axes, shape)
            return
        whole = self._materialized(source, self._place(op))
        view = self.tensors.add(View(whole, shape))
        self._define(result, view, shape)

    def _materialized(self, read: _Read, place: str) -> int:
        """The tensor whose elements, in order, are those of a read."""
        own = tuple(i if n > 1 else ONE for i, n in enumerate(read.shape))
        if read.axes == own and self._shape_of(read.tensor) == read.shape:
            return read.tensor
        if _plain(read.axes, read.shape) and math.prod(read.shape) == math.prod(
            self._shape_of(read.tensor)
        ):
            return self.tensors.add(View(read.tensor, read.shape))
        node = Node(
            read.shape,
            own,
            MAP,
            Call("copy", (Reference(0),)),
            (Access(read.tensor, read.axes),),
            self.tensors.dtype(read.tensor),
            place,
        )
        return self.tensors.add(node)

    def _shape_of(self, tensor: int) -> tuple[int, ...]:
        return self.tensors.all[tensor].shape

    def _pad(self, op: ir.Operation) -> None:
        source = self._get(op.operands[0])
        result = op.results[0]
        shape = _shape(result)
        low = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))
        block = op.regions[0].blocks[0]
        last = block.operations[len(block.operations) - 1].operation
        value = self.known.get(last.operands[0])
        if not isinstance(value, _Same):
            raise OpError("it pads with what is no number", "pad with a constant")
        if isinstance(source, _Same):
            raise OpError("it pads a constant", "write the padded constant")
        if float(value.number) != 0:
            raise OpError(
                f"it pads with {value.number}, and a graph pads with 0",
                "pad with 0, or outside of the program",
            )
        moved = tuple(
            Window(((i, 1),), before, n - before - own) if n > 1 else ONE
            for i, (before, n, own) in enumerate(
                zip(low, shape, source.shape, strict=True)
            )
        )
        self._through(op, source, moved, shape)

    def _through(
        self,
        op: ir.Operation,
        source: _Read,
        inner: tuple[Axis, ...],
        shape: tuple[int, ...],
    ) -> None:
        """A result that is an access of another tensor."""
        own = self._shape_of(source.tensor)
        axes = substituted(source.axes, inner, shape, own)
        if axes is None:
            raise OpError(
                "it reads from within a tensor on", "take the part outside of it"
            )
        self.known[op.results[0]] = _Read(source.tensor, axes, shape)

    def _extract(self, op: ir.Operation) -> None:
        source = self._get(op.operands[0])
        if isinstance(source, _Same):
            self.known[op.results[0]] = _Same(source.number, ())
        elif all(n == 1 for n in source.shape):
            self.known[op.results[0]] = _Read(source.tensor, source.axes, ())
        else:
            raise OpError(
                "elements are read at places that are data",
                "compute it outside of the program",
            )

    def _from_elements(self, op: ir.Operation) -> None:
        result = op.results[0]
        if len(op.operands) != 1:
            raise OpError("it makes a tensor of scalars", "give it as an argument")
        source = self._get(op.operands[0])
        self.known[result] = dataclasses.replace(source, shape=_shape(result))

    def _generic(self, op: ir.Operation) -> None:
        _GenericOp(self, op).run()

    def _return(self, op: ir.Operation) -> None:
        for value in op.operands:
            shape, dtype = _type(value.type, "a result")
            found = self._get(value)
            place = self._place(op)
            if isinstance(found, _Same):
                axes = tuple(i if n > 1 else ONE for i, n in enumerate(shape))
                number = Constant(float(found.number))
                node = Node(shape, axes, MAP, number, (), dtype, place)
                self.tensors.results.append(self.tensors.add(node))
                continue
            tensor = self._materialized(found, place)
            taken = {self.tensors.root(t) for t in self.tensors.results}
            root = self.tensors.root(tensor)
            given = not isinstance(self.tensors.all[root], Node)
            if given or root in taken:
                own = tuple(i if n > 1 else ONE for i, n in enumerate(shape))
                copied = Call("copy", (Reference(0),))
                access = (Access(tensor, own),)
                node = Node(shape, own, MAP, copied, access, dtype, place)
                tensor = self.tensors.add(node)
            self.tensors.results.append(tensor)


class _MissingError(Exception):
    """An operand was refused before."""


class _GenericOp:
    """One `linalg.generic`, as nodes."""

    def __init__(self, importer: _Importer, op: ir.Operation) -> None:
        self.importer = importer
        self.op = op
        self.tensors = importer.tensors
        self.maps = [
            ir.AffineMapAttr(attribute).value
            for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])
        ]
        self.count = len(op.operands) - len(op.results)
        self.extents = self._extents()
        self.reads: list[Access] = []
        self.place = importer._place(op)

    def run(self) -> None:
        refused = next(
            (
                r
                for v in (*self.op.operands, *self.op.results)
                if (r := dynamic(v.type))
            ),
            None,
        )
        if refused is not None:
            raise refused
        block = self.op.regions[0].blocks[0]
        arguments = [self._argument(i) for i in range(self.count)]
        outs: list[Element] = [Reference(_OUT - i) for i in range(len(self.op.results))]
        if self._is_move(block):
            self._move()
            return
        wanted = [i for i, result in enumerate(self.op.results) if _is_used(result)]
        found = body_elements(
            block, arguments + outs, self._outside, self._place_along, wanted
        )
        for i, element in zip(wanted, found, strict=True):
            self._result(i, element)

    def _extents(self) -> tuple[int, ...]:
        found: dict[int, int] = {}
        for operand, index_map in zip(self.op.operands, self.maps, strict=True):
            if not isinstance(operand.type.maybe_downcast(), ir.RankedTensorType):
                continue
            for extent, expr in zip(_shape(operand), index_map.results, strict=True):
                expr = expr.maybe_downcast()
                if isinstance(expr, ir.AffineDimExpr):
                    found[expr.position] = extent
        count = self.maps[0].n_dims
        if any(d not in found for d in range(count)):
            raise OpError(
                "the size of a dimension is the size of no tensor",
                "write it as a generic whose operands have every dimension",
            )
        return tuple(found[d] for d in range(count))

    def _outside(self, value: ir.Value) -> Element:
        return self._element(self.importer._get(value), ())

    def _place_along(self, dim: int) -> Element:
        """The place along a dimension, as a constant that is read."""
        extent = self.extents[dim]
        name = f"places{extent}"
        known = (
            i
            for i, t in enumerate(self.tensors.all)
            if isinstance(t, Given) and t.name == name
        )
        tensor = next(known, None)
        if tensor is None:
            array = np.arange(extent, dtype=np.float32)
            given = Given(name, (extent,), Dtype.F32, -1, array)
            tensor = self.tensors.add(given)
        read = _Read(tensor, (0 if extent > 1 else ONE,), (extent,))
        return self._element(read, (dim if extent > 1 else ONE,))

    def _argument(self, place: int) -> Element:
        found = self.importer._get(self.op.operands[place])
        if isinstance(found, _Same):
            return found.number
        inner = self._index(place, found.shape)
        return self._element(found, inner)

    def _index(self, place: int, shape: tuple[int, ...]) -> tuple[Axis, ...]:
        """The axes of an operand, by the dimensions of the op."""
        found = []
        for expr, extent in zip(self.maps[place].results, shape, strict=True):
            terms, start = _linear(expr)
            axis = None if start else window_of(terms, 0, self.extents, extent)
            if axis is None:
                raise OpError(
                    f"an operand is read at {expr}", "write sums of dimensions"
                )
            found.append(axis)
        return tuple(found)

    def _element(self, found: _Read | _Same, inner: tuple[Axis, ...]) -> Element:
        if isinstance(found, _Same):
            return found.number
        own = self.tensors.all[found.tensor].shape
        axes = substituted(found.axes, inner, self.extents, own)
        if axes is None:
            raise OpError(
                "it reads from within a tensor on", "take the part outside of it"
            )
        access = Access(found.tensor, axes)
        if access not in self.reads:
            self.reads.append(access)
        return Reference(self.reads.index(access))

    def _is_move(self, block: ir.Block) -> bool:
        """Whether it only reads a tensor by other axes."""
        if self.count != 1 or len(self.op.results) != 1 or len(block.operations) != 1:
            return False
        last = block.operations[0].operation
        return (
            bool(last.operands[0] == block.arguments[0]) and self.maps[1].is_permutation
        )

    def _move(self) -> None:
        result = self.op.results[0]
        shape = _shape(result)
        source = self.importer._get(self.op.operands[0])
        if isinstance(source, _Same):
            self.importer.known[result] = _Same(source.number, shape)
            return
        inner = self._index(0, source.shape)
        place = {
            expr.maybe_downcast().position: i
            for i, expr in enumerate(self.maps[1].results)
        }
        moved = tuple(_renamed(axis, place) for axis in inner)
        self.importer._through(self.op, source, moved, shape)

    def _result(self, number: int, element: Element) -> None:
        result = self.op.results[number]
        shape = _shape(result)
        if is_number(element):
            self.importer.known[result] = _Same(element, shape)  # type: ignore[arg-type]
            return
        expression = simplified(constant(element))
        axes = self._index(self.count + number, shape)
        if not all(isinstance(a, int) or a == ONE for a in axes):
            raise OpError(
                "its result is written at sums of dimensions", "write plain dimensions"
            )
        kept = {a for a in axes if isinstance(a, int)}
        reduces = any(n > 1 and d not in kept for d, n in enumerate(self.extents))
        dtype = _dtype(result.type)
        init = self.importer.known.get(self.op.operands[self.count + number])
        out = _OUT - number
        if reduces:
            tensor = self._reduction(expression, axes, dtype, init, out)
        else:
            expression = self._with_init(expression, init, number)
            tensor = self._node(MAP, expression, axes, dtype)
        self.importer._define(result, tensor, shape)

    def _node(
        self, reduction: str, expression: Expression, axes: tuple[Axis, ...], dtype: Any
    ) -> int:
        node = Node(
            self.extents,
            axes,
            reduction,
            expression,
            tuple(self.reads),
            dtype,
            self.place,
        )
        return self.tensors.add(_compact(node))

    def _with_init(
        self, expression: Expression, init: _Known, number: int
    ) -> Expression:
        """A map that reads what its output held."""
        out = _OUT - number
        if out not in _leaves(expression):
            return expression
        if init is None:
            raise _MissingError
        held = self._element(init, self._index(self.count + number, init.shape))
        return _replaced(expression, out, constant(held))

    def _reduction(
        self,
        expression: Expression,
        axes: tuple[Axis, ...],
        dtype: Any,
        init: _Known,
        out: int,
    ) -> int:
        if init is None:
            raise _MissingError
        reduction, term = _split(expression, out)
        start = init.number if isinstance(init, _Same) else None
        is_neutral = start == _NEUTRAL[reduction]
        if is_neutral and dtype is not Dtype.BF16:
            return self._node(reduction, term, axes, dtype)
        found = self._node(reduction, term, axes, Dtype.F32)
        return self._merged(found, reduction, init, dtype)

    def _merged(self, found: int, reduction: str, init: _Known, dtype: Any) -> int:
        """A reduction, with what its output held before."""
        assert init is not None
        shape = self.tensors.all[found].shape
        own = tuple(i if n > 1 else ONE for i, n in enumerate(shape))
        reads = [Access(found, own)]
        held: Expression
        if isinstance(init, _Same):
            held = Constant(float(init.number))
        else:
            reads.append(Access(init.tensor, init.axes))
            held = Reference(1)
        expression = simplified(Call(_MERGE[reduction], (Reference(0), held)))
        if isinstance(init, _Same) and init.number == _NEUTRAL[reduction]:
            expression = Call("copy", (Reference(0),))
        node = Node(shape, own, MAP, expression, tuple(reads), dtype, self.place)
        return self.tensors.add(node)


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def _compact(node: Node) -> Node:
    """A node without reads that its expression lacks."""
    used = sorted(set(_leaves(node.expression)))
    number = {old: new for new, old in enumerate(used)}
    expression = node.expression
    return dataclasses.replace(
        node,
        expression=_renumbered(expression, number),
        reads=tuple(node.reads[old] for old in used),
    )


def _renumbered(expression: Expression, number: dict[int, int]) -> Expression:
    if isinstance(expression, Reference):
        return Reference(number[expression.value])
    if isinstance(expression, Call):
        arguments = tuple(_renumbered(a, number) for a in expression.arguments)
        return Call(expression.function, arguments)
    return expression


def _leaves(expression: Expression) -> list[int]:
    if isinstance(expression, Reference):
        return [expression.value]
    if isinstance(expression, Call):
        return [leaf for a in expression.arguments for leaf in _leaves(a)]
    return []


def _replaced(expression: Expression, value: int, by: Expression) -> Expression:
    if expression == Reference(value):
        return by
    if isinstance(expression, Call):
        arguments = tuple(_replaced(a, value, by) for a in expression.arguments)
        return Call(expression.function, arguments)
    return expression


def _split(expression: Expression, out: int) -> tuple[str, Expression]:
    """The reduction that a body is, and its term.

    Raises:
        OpError: it is none.
    """
    if isinstance(expression, Call) and expression.function in _REDUCTIONS:
        a, b = expression.arguments
        name = _REDUCTIONS[expression.function]
        if out not in _leaves(a) and b == Reference(out):
            return name, a
        if out not in _leaves(b) and a == Reference(out):
            return name, b
        for inner, other in ((a, b), (b, a)):
            if out in _leaves(inner) and out not in _leaves(other):
                again, term = _split(inner, out)
                if again == name:
                    return name, Call(expression.function, (term, other))
    raise OpError(
        "it reduces by what is no sum, maximum or minimum",
        "compute it outside of the program",
    )


def _linear(expr: ir.AffineExpr) -> tuple[dict[int, int], int]:
    """The coefficients of the dimensions of an index, and what is added.

    Raises:
        OpError: it is no such sum.
    """
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineDimExpr):
        return {expr.position: 1}, 0
    if isinstance(expr, ir.AffineConstantExpr):
        return {}, expr.value
    if isinstance(expr, ir.AffineAddExpr):
        (left, a), (right, b) = _linear(expr.lhs), _linear(expr.rhs)
        dims = {*left, *right}
        return {d: left.get(d, 0) + right.get(d, 0) for d in dims}, a + b
    if isinstance(expr, ir.AffineMulExpr):
        (left, a), (right, b) = _linear(expr.lhs), _linear(expr.rhs)
        if not right:
            return {d: s * b for d, s in left.items()}, a * b
        if not left:
            return {d: s * a for d, s in right.items()}, a * b
    raise OpError(f"an operand is read at {expr}", "write sums of dimensions")


def _renamed(axis: Axis, place: dict[int, int]) -> Axis:
    if isinstance(axis, int):
        return place[axis]
    terms = tuple(sorted((place[d], step) for d, step in axis.terms))
    return dataclasses.replace(axis, terms=terms)


def _plain(axes: tuple[Axis, ...], shape: tuple[int, ...]) -> bool:
    """Whether axes are those of a tensor in order, but for axes of one element."""
    named = [axis for axis in axes if axis != ONE]
    return named == [i for i, n in enumerate(shape) if n > 1]


def _shape(value: ir.Value) -> tuple[int, ...]:
    found = value.type.maybe_downcast()
    refused = dynamic(found)
    if refused is not None:
        raise refused
    return tuple(found.shape) if isinstance(found, ir.RankedTensorType) else ()


def _dtype(found: ir.Type) -> Dtype:
    """The dtype that a tensor has in memory: bf16, or f32. Truth values and places are
    numbers, too.

    Raises:
        OpError: elements that are no floats.
    """
    found = found.maybe_downcast()
    element = found.element_type if isinstance(found, ir.RankedTensorType) else found
    if isinstance(element, ir.BF16Type):
        return Dtype.BF16
    if isinstance(element, ir.F32Type | ir.F64Type | ir.IntegerType | ir.IndexType):
        return Dtype.F32
    raise OpError(
        f"it has elements of {element}, and a graph has f32 and bf16",
        "export the model in float32 or bfloat16",
    )


def _type(found: ir.Type, what: str) -> tuple[tuple[int, ...], Dtype]:
    """The shape and dtype of an argument, a constant or a result.

    Raises:
        OpError: no kernel takes such an array.
    """
    found = found.maybe_downcast()
    if not isinstance(found, ir.RankedTensorType):
        raise OpError(f"{what} is {found}, not a tensor", "pass tensors")
    refused = dynamic(found)
    if refused is not None:
        raise refused
    if any(n < 1 for n in found.shape):
        raise OpError(f"{what} is {found}, which has no elements", "leave it out")
    element = found.element_type
    if not isinstance(element, ir.F32Type | ir.BF16Type):
        raise OpError(
            f"{what} is {found}, and kernels take f32 and bf16",
            "export the model in float32 or bfloat16",
        )
    return tuple(found.shape), _dtype(found)


def _array(value: ir.Attribute, shape: tuple[int, ...], dtype: Dtype) -> Any:
    """The elements of a constant."""
    if isinstance(value, ir.DenseElementsAttr):
        if dtype is Dtype.F32:
            return np.array(value, np.float32).reshape(shape)
        numbers = list(value)
        return np.array(numbers, np.float32).astype(ml_dtypes.bfloat16).reshape(shape)
    if isinstance(value, ir.DenseResourceElementsAttr):
        raw = memoryview(value)
        return np.frombuffer(raw, dtype.numpy).reshape(shape).copy()
    raise OpError(f"the constant is {type(value).__name__}", "write dense<…>")


_ELSEWHERE = "compute it outside of the program"


def _why(op: ir.Operation) -> tuple[str, str]:
    """Why an op has no place in a graph."""
    dialect = op.name.partition(".")[0]
    if dialect in ("scf", "cf"):
        return "control flow depends on data", "export the branch or the unrolled loop"
    if op.name in ("tensor.gather", "tensor.extract", "tensor.scatter"):
        return "elements are read at places that are data", _ELSEWHERE
    if op.name.startswith("func.call"):
        return "the function that it calls is not here", "inline it"
    return "no graph of reductions and maps computes it", _ELSEWHERE

"""A function of linalg on tensors to a DAG of tensors (`Tensors`).

`imported` is the entry point. Every op that has no place there is noted, and what
depends on it is left out, so that one try finds all of them.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from morello.frontends.linalg import bodies
from morello.frontends.linalg.bodies import Element, is_number
from morello.frontends.linalg.borders import add_argument, add_results
from morello.frontends.linalg.generic import GenericOp
from morello.frontends.linalg.imported_values import ImportedValues
from morello.frontends.linalg.known_arrays import MOST
from morello.frontends.linalg.signature import UNDECLARED, Signature, unique_name
from morello.frontends.linalg.types import (
    constant_array,
    constant_value,
    dtype_of,
    makes_nothing,
    numpy_type,
    refuse_dynamic,
    shape_of,
)
from morello.frontends.linalg.values import (
    MissingError,
    Read,
    Same,
    along,
    next_of,
    regrouped,
    unread,
)
from morello.frontends.nodes.reshapes import axis_groups
from morello.frontends.nodes.tensors import (
    Joined,
    Node,
    Source,
    Tensors,
    View,
    identity_axes,
    substituted,
)
from morello.frontends.plain.fallback import SUMS_OF_ROWS, Fallback
from morello.frontends.reasons import DATA_PLACES, why_no_graph
from morello.frontends.refusals import ModelError, OpError
from morello.mlir import ir
from morello.spec.index_map import ONE, IndexMap, plain, renamed

_FILLS = {0.0: "zero", -math.inf: "lowest", math.inf: "highest"}  # what `Fill` writes


def imported(
    function: ir.Operation,
    source: str,
    names: Mapping[str, str] | None = None,
    fallback: bool = False,
    rounds: bool = True,
    signature: Signature = UNDECLARED,
) -> Tensors:
    """The tensors of a function.

    Args:
        function: a ``func.func`` whose ops are `linalg.generic`, views and constants.
        source: the name of the file, for messages.
        names: what the program had at a place, by the place.
        fallback: leave heavy ops that are no Spec to plain lowering, too.
        rounds: whether casts to bf16 and f16 do.
        signature: the names and signs of its arguments and results.

    Raises:
        ModelError: ops that have no place in a graph, all of them.
    """
    return Importer(function, source, names or {}, fallback, rounds, signature).run()


class Importer(ImportedValues):
    """Walks a function; `known` has what each of its values is."""

    def __init__(
        self,
        function: ir.Operation,
        source: str,
        names: Mapping[str, str],
        fallback: bool,
        rounds: bool = True,
        signature: Signature = UNDECLARED,
    ) -> None:
        super().__init__(function, source, names, rounds, signature)
        self.fallback = Fallback(self, fallback)
        self._steps: dict[str, Callable[[ir.Operation], None]] = {
            "arith.constant": self._constant,
            "func.return": lambda op: add_results(self, self.fallback, op),
            "linalg.generic": lambda op: GenericOp(self, op).run(),
            "tensor.cast": self._cast,
            "tensor.collapse_shape": self._view,
            "tensor.concat": self._concat,
            "tensor.empty": self._empty,
            "tensor.expand_shape": self._view,
            "tensor.extract": self._extract,
            "tensor.extract_slice": self._slice,
            "tensor.from_elements": self._from_elements,
            "tensor.insert_slice": self._insert,
            "tensor.pad": self._pad,
            "tensor.reshape": self._view,
        }

    def run(self) -> Tensors:
        """The tensors; see `imported`."""
        block = self.function.regions[0].blocks[0]
        for argument in block.arguments:
            add_argument(self, self.fallback, argument)
        for op in block.operations:
            self._guarded(op.operation)
        if self.refusals:
            raise ModelError(tuple(self.refusals))
        self._name_results()
        return self.tensors

    def _name_results(self) -> None:
        if any(declared.name for declared in self.signature.results):
            taken = self.tensors.names.copy()
            for number in range(len(self.tensors.results)):
                name = self.signature.result(number).name
                taken.append(unique_name(name, f"out{number}", taken))
            self.tensors.result_names = taken[len(self.tensors.names) :]

    def _guarded(self, op: ir.Operation) -> None:
        """Read an op, or note why not, unless an operand was refused before."""
        try:
            if makes_nothing(op):
                self.known |= {r: Same(0, shape_of(r)) for r in op.results}
            elif self.fallback.adds_rows(op):
                self._left(op, OpError(SUMS_OF_ROWS, "add up what lies in memory"))
            else:
                self._steps.get(op.name, self._scalar)(op)
        except MissingError:
            self.known |= dict.fromkeys(op.results)
        except OpError as error:
            self._left(op, error)

    def _left(self, op: ir.Operation, error: OpError) -> None:
        """Leave an op to plain lowering if that takes it, or refuse it."""
        try:
            if op.name == "func.return" or not self.fallback.takes(op):
                raise error
            self.fallback.lower(op, error)
        except MissingError:
            self.known |= dict.fromkeys(op.results)
        except OpError as final:
            self.refuse(op, final)
            self.known |= dict.fromkeys(op.results)

    def _scalar(self, op: ir.Operation) -> None:
        """An op on numbers outside of any body."""
        refuse_dynamic(op)
        if op.name.startswith(("arith.", "math.")) and len(op.results) == 1:
            operands: list[Element] = []
            for value in op.operands:
                operand = self.get(value)
                if isinstance(operand, Read):
                    raise OpError(
                        "it computes a scalar that is known only when the model runs",
                        "compute it with tensors, or outside of the program",
                    )
                operands.append(operand.number)
            element = bodies.computed_element(op, operands, self.rounds)
            if is_number(element):
                self.known[op.results[0]] = Same(element, ())  # type: ignore[arg-type]
                return
        raise OpError(*why_no_graph(op))

    def _constant(self, op: ir.Operation) -> None:
        value = constant_value(op)
        result = op.results[0]
        shape = shape_of(result)
        if not isinstance(result.type.maybe_downcast(), ir.RankedTensorType):
            self.known[result] = Same(bodies.number_of(value), ())
        elif isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            number = bodies.number_of(value.get_splat_value())
            self.known[result] = Same(number, shape)
        elif next(iter(result.uses), None) is not None:
            array = constant_array(value, result.type, self.resources)
            kind = numpy_type(result.type)
            is_whole = kind is not None and kind.kind == "i"
            if is_whole and (np.abs(array) >= MOST).any():
                self.fallback.define_constant(result)  # f32 may lack the number
                return
            count = sum(isinstance(t, Source) for t in self.tensors.all)
            dtype = dtype_of(result.type)
            constant = Source(f"constant{count}", shape, dtype, -1, array)
            self.define(result, self.tensors.add(constant))

    def _empty(self, op: ir.Operation) -> None:
        self.known[op.results[0]] = Same(0, shape_of(op.results[0]))

    def _cast(self, op: ir.Operation) -> None:
        # What is known has the shape that the type may lack.
        self.known[op.results[0]] = self.known.get(op.operands[0])

    def _view(self, op: ir.Operation) -> None:
        operand, result = op.operands[0], op.results[0]
        source, shape = self.moved(operand), shape_of(result)
        if isinstance(source, Same):
            self.known[result] = Same(source.number, shape)
            return
        inner = regrouped(source, shape)
        if inner is not None:
            axes = renamed(source.axes, inner)
            self.move(result, operand, Read(source.tensor, axes, shape))
            return
        split = self._split(source, shape)
        if split is None:
            whole = self.materialized(source, self.place(op))
            view = self.tensors.add(View(whole, shape))
            split = Read(view, identity_axes(shape), shape)
        self.move(result, operand, split)

    def _split(self, source: Read, shape: tuple[int, ...]) -> Read | None:
        """A reshaped read as a read of a reshaped tensor; None where axes are joined,
        or where all of the tensor is read."""
        groups = axis_groups(source.shape, shape)
        whole = self.tensors.all[source.tensor].shape
        if not unread(source) and all(a == ONE or a.is_plain for a in source.axes):
            return None
        extents: list[int] = []
        axes: list[IndexMap] = []
        for axis, extent in zip(source.axes, whole, strict=True):
            if not axis.dims:
                extents.append(extent)
                axes.append(axis)
                continue
            olds, news = next(g for g in groups if axis.dims[0] in g[0])
            if tuple(i for i in olds if source.shape[i] > 1) != axis.dims:
                return None
            wide = [i for i in news if shape[i] > 1]
            if axis.dim is None:  # zeros around it, or steps: it stays one
                if len(wide) > 1:
                    return None
                extents.append(extent)
                axes += renamed((axis,), dict(zip(axis.dims, wide, strict=True)))
                continue
            extents += [shape[i] for i in wide]
            axes += plain(*wide)
        view = self.tensors.add(View(source.tensor, tuple(extents)))
        return Read(view, tuple(axes), shape)

    def _pad(self, op: ir.Operation) -> None:
        source = self.get(op.operands[0])
        result = op.results[0]
        shape = shape_of(result)
        low = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))
        block = op.regions[0].blocks[0]
        last = block.operations[len(block.operations) - 1].operation
        value = self.known.get(last.operands[0])
        if not isinstance(value, Same):
            raise OpError("it pads with what is no number", "pad with a constant")
        number = float(value.number)
        if isinstance(source, Same) and _signed(source.number) == _signed(number):
            self.known[result] = Same(source.number, shape)
            return
        if 0 in source.shape:
            self.known[result] = Same(value.number, shape)
            return
        if isinstance(source, Same) or any(n < 0 for n in low):
            raise OpError("it pads a constant, or cuts off", "write the result itself")
        if _signed(number) != _signed(0.0):
            self._join(op, [(source, tuple(low))], number)
            return
        grown = [i for i, n in enumerate(source.shape) if n == 1 and shape[i] > 1]
        stored = self.tensors.all[source.tensor].shape
        padded = along(source, stored, grown)
        moved = tuple(
            IndexMap(((i, 1),), before, n - before - extent) if n > 1 else ONE
            for i, (before, n, extent) in enumerate(
                zip(low, shape, source.shape, strict=True)
            )
        )
        axes = None
        if padded is not None:
            axes = substituted(padded.axes, moved, shape, stored)
        if axes is None:
            copied = self.tensors.add(self.copy(source, self.place(op)))
            self.known[result] = Read(copied, moved, shape)
        else:
            self.known[result] = Read(source.tensor, axes, shape)

    def _slice(self, op: ir.Operation) -> None:
        operand, result = op.operands[0], op.results[0]
        source, shape = self.moved(operand), shape_of(result)
        if isinstance(source, Same):
            self.known[result] = Same(source.number, shape)
            return
        starts, sizes, steps = self._static(op)
        inner: list[IndexMap] = []
        rest = [i for i, extent in enumerate(shape)]
        for start, size, step, size_before in zip(
            starts, sizes, steps, source.shape, strict=True
        ):
            place = next_of(rest, shape, size)
            if size == size_before and step == 1:
                inner.append(IndexMap.of(place) if size > 1 else ONE)
                continue
            reach = 1 + step * (size - 1)
            terms = ((place, step),) if size > 1 else ()
            inner.append(IndexMap(terms, -start, reach + start - size_before))
        read = self.through(source, tuple(inner), shape, self.place(op))
        self.move(result, operand, read)

    def _static(
        self, op: ir.Operation
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The offsets, sizes and strides of a slice.

        Raises:
            OpError: they are data.
        """
        names = "static_offsets", "static_sizes", "static_strides"
        dynamic = ir.ShapedType.get_dynamic_size()
        rest = list(op.operands)[2 if op.name == "tensor.insert_slice" else 1 :]
        lists: list[tuple[int, ...]] = []
        for name in names:
            numbers = []
            for number in ir.DenseI64ArrayAttr(op.attributes[name]):
                if number == dynamic:
                    known = self.get(rest.pop(0))
                    if not isinstance(known, Same):
                        raise OpError(*DATA_PLACES)
                    number = int(known.number)
                numbers.append(number)
            lists.append(tuple(numbers))
        starts, sizes, steps = lists
        return starts, sizes, steps

    def _concat(self, op: ir.Operation) -> None:
        axis = int(ir.IntegerAttr(op.attributes["dim"]).value)
        pieces, start = [], 0
        rank = len(shape_of(op.results[0]))
        for value in op.operands:
            source = self.get(value)
            pieces.append(
                (source, tuple(start if i == axis else 0 for i in range(rank)))
            )
            start += source.shape[axis]
        self._join(op, pieces, None)

    def _insert(self, op: ir.Operation) -> None:
        source, around = self.get(op.operands[0]), self.get(op.operands[1])
        starts, sizes, steps = self._static(op)
        source = self._with_shape(source, sizes, self.place(op))
        if isinstance(around, Same):
            fill = float(around.number)
            self._join(op, [(source, starts)], fill, steps)
            return
        zero = (0,) * len(starts)
        self._join(op, [(around, zero), (source, starts)], None, steps)

    def _with_shape(
        self, source: Read | Same, shape: tuple[int, ...], place: str
    ) -> Read | Same:
        if source.shape == shape:
            return source
        if isinstance(source, Same):
            return Same(source.number, shape)
        view = self.tensors.add(View(self.materialized(source, place), shape))
        return Read(view, identity_axes(shape), shape)

    def _join(
        self,
        op: ir.Operation,
        pieces: list[tuple[Read | Same, tuple[int, ...]]],
        fill: float | None,
        steps: tuple[int, ...] = (),
    ) -> None:
        """A tensor of pieces, each at its place; the last one with steps.

        Raises:
            OpError: no Spec writes it so.
        """
        result = op.results[0]
        shape, dtype = shape_of(result), dtype_of(result.type)
        if fill is not None and _signed(fill) not in map(_signed, _FILLS):
            raise OpError(
                f"it pads with {fill}, and a Fill writes 0, -inf or inf",
                "pad with one of them, or outside of the program",
            )
        name = "" if fill is None else _FILLS[fill]
        if 0 in pieces[-1][0].shape:
            steps = ()
        pieces = [piece for piece in pieces if 0 not in piece[0].shape]
        ones = (1,) * len(shape)

        def nodes() -> Iterator[tuple[Node, tuple[int, ...], tuple[int, ...]]]:
            for number, (source, starts) in enumerate(pieces):
                read = self.spread(source) if isinstance(source, Same) else source
                copied = self.copy(read, self.place(op))
                last = number == len(pieces) - 1
                piece_steps = steps if steps and last else ones
                yield dataclasses.replace(copied, dtype=dtype), starts, piece_steps

        overwrites = len(pieces) == 2 and op.name.endswith("slice")
        joined = self.tensors.join(Joined(shape, dtype, name), nodes(), overwrites)
        self.define(result, joined)

    def _extract(self, op: ir.Operation) -> None:
        source = self.get(op.operands[0])
        if isinstance(source, Same):
            self.known[op.results[0]] = Same(source.number, ())
        elif all(extent == 1 for extent in source.shape):
            self.known[op.results[0]] = Read(source.tensor, source.axes, ())
        else:
            raise OpError(*DATA_PLACES)

    def _from_elements(self, op: ir.Operation) -> None:
        result = op.results[0]
        if len(op.operands) != 1:
            raise OpError("it makes a tensor of scalars", "give it as an argument")
        source = self.get(op.operands[0])
        if isinstance(source, Same):
            self.known[result] = Same(source.number, shape_of(result))
        else:
            self.known[result] = Read(source.tensor, source.axes, shape_of(result))


def _signed(number: float) -> tuple[float, float]:
    """A number and its sign: 0.0 and -0.0 are equal, and are two numbers."""
    return number, math.copysign(1.0, number)

"""The vector kernel of graphs: maps and reductions in one pass, from L1 or registers.

Its code is written from the expressions of the nodes. Vectors lie along one dimension,
which is innermost in every operand that has it; windows may move along it in steps of
two, as under a filter with a stride. A value that lacks the dimension, or has one
element for all of it, is computed once a row, as a scalar. A reduction along it is
carried in vectors, whose lanes are reduced at the end of the row; one across it is
carried from row to row. Rows of windows, as under a filter, are computed side by side,
and read images where they lie (`lines.py`): places beyond an image add nothing.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import OpCounts, Ops, Phase, add, times
from morello.kernels.code.running import Running
from morello.kernels.code.varying_row import (
    groups_written,
    takes_masks,
    varying_counts,
)
from morello.kernels.code.vectors import piece_count, tail_of, vectors_of
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.graph.counted import Moves, counted_node, operations_of
from morello.kernels.graph.inner import (
    graph_of,
    graph_seen,
    has_borders,
    inner_of,
    is_windowed,
    reads_far,
    wanted_inner,
)
from morello.kernels.graph.lines import RowLines
from morello.kernels.graph.shape import (
    Blocking,
    ends_of,
    factors_of,
    reduced_of,
    rows_of,
    shares_rows,
    step_of,
    stored_rounded,
    together_of,
)
from morello.kernels.graph.writer import GraphWriter
from morello.kernels.predicates import (
    ROOM_IN_L2,
    free_lines,
    in_l1,
    in_registers,
    is_interleaved,
    product,
    within_block,
)
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.spec import (
    Compose,
    Form,
    Layout,
    Memory,
    PhysicalDim,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec.elements.dtypes import computed_in
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.blocks import block_of, in_one_block
from morello.spec.graphs.borders import Sides
from morello.spec.graphs.passes import one_pass


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphRows(Kernel):
    """The outputs of a graph without contractions, in one pass over its inputs."""

    of_kind = Compose

    unroll: int
    """Vectors that are computed side by side."""
    sums: int
    """Vectors of rows that are computed side by side, where they read something
    alike."""
    taps: int
    """The most places of reduced dimensions that are written out, as those of a filter:
    of more, the loop costs little."""

    @property
    def together(self) -> int:
        """Rows side by side, each with the vectors of a line: lines of other rows may
        push it out of its set before it is read again."""
        return self.sums // self.isa.line_vectors

    def accepts(self, key: SpecKey) -> bool:
        """Graphs whose nodes need no second pass; nothing packed, and padded windows
        along rows alone."""
        kind = key.kind
        if not isinstance(kind, Compose):
            return False
        if any(t.layout.is_packed or is_interleaved(t.layout) for t in key.tensors):
            return False
        inner = inner_of(key)
        if inner is None or one_pass(kind.graph) is None:
            return False
        if reads_far(key) or kind.graph.padded_dims:
            registers = any(tensor.level.is_registers for tensor in key.tensors)
            return is_windowed(key) and has_borders(key) and not registers
        for tensor in key.tensors:
            if not in_l1(tensor) and not self._in_registers(key, tensor):
                return False
        plan = one_pass(in_one_block(kind.graph, inner))
        if plan is None:
            return False
        registers = any(t.level.is_registers for t in key.tensors)
        return not (registers and plan.reduced)

    def _in_registers(self, key: SpecKey, tensor: TensorSpec) -> bool:
        """Whether an operand is in registers with as many lanes as are computed."""
        lanes = self.isa.lanes(computed_in(key.dtypes))
        return in_registers(tensor, self.isa) and tensor.vector_width == lanes

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Unpacked, with the dimension along vectors innermost."""
        kind, tensor = key.kind, key.tensors[operand]
        form = kind.operands[operand]
        if not isinstance(kind, Compose) or one_pass(kind.graph) is None:
            return ()
        if not form.is_plain or tensor.level.is_registers:
            return ()
        inner = wanted_inner(key)
        order = [axis for axis, dim in enumerate(form.dims) if dim != inner]
        order += [axis for axis, dim in enumerate(form.dims) if dim == inner]
        layout = tensor.layout
        if not layout.is_packed and (
            inner not in form.dims or form.dims[layout.innermost] == inner
        ):
            return ()
        return (Form(tensor.dtype, Layout(tuple(map(PhysicalDim, order)))),)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Conditions: a vector stays within one block of a divided axis; where operands
        are in registers the code is unrolled, and its length is limited."""
        inner = inner_of(frame.key)
        assert inner is not None
        block, name = block_of(graph_of(frame.key), inner), frame.key.kind.dims[inner]
        conditions = self._of_windows(frame)
        if block is not None:
            reason = f"takes {block} {name} at most: tile it"
            conditions = (*conditions, Condition(frame.sizes[inner] <= block, reason))
        if not any(t.level.is_registers for t in frame.key.tensors):
            return conditions
        vectors = vectors_of(
            frame.sizes[inner], self.isa.lanes(computed_in(frame.key.dtypes))
        )
        rows = product(tuple(s for d, s in enumerate(frame.sizes) if d != inner))
        return (*conditions, within_block(rows * vectors, self.isa))

    def _of_windows(self, frame: Frame) -> tuple[Condition, ...]:
        """Conditions of windows that reach beyond an image, or are beyond L1."""
        graph = graph_of(frame.key)
        conditions: tuple[Condition, ...] = ()
        if graph.padded_dims:
            there = Sides.of(graph, frame.sizes) is not None
            few = frame.sizes[reduced_of(*graph_seen(frame.key))[-1]] <= self.taps
            conditions = (
                Condition(there, "takes rows with taps inside the image, one with all"),
                Condition(few, f"takes {self.taps} taps of a padded row at most"),
            )
        if reads_far(frame.key):
            fits = self._lines(frame).band <= free_lines(frame)[1]
            reason = "needs room in L2 for a row of windows: tile it"
            conditions = (*conditions, Condition(fits, reason))
        return conditions

    def op_counts(self, frame: Frame) -> OpCounts:
        """The operations of each vector, of each row and after each reduction."""
        return self._with_lines(frame, RowCounts.of(frame, self).total())

    def _with_lines(self, frame: Frame, counts: OpCounts) -> OpCounts:
        """Operations, beside which lines arrive that are beyond L1."""
        if not reads_far(frame.key):
            return counts
        return counts.beside(self._lines(frame).lines())

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """L2, where rows of windows stay."""
        return ROOM_IN_L2 if is_windowed(key) else frozenset()

    def _lines(self, frame: Frame) -> RowLines:
        graph, inner = graph_seen(frame.key)
        together = together_of(graph, inner, frame.sizes, self.together)
        return RowLines(frame, rows_of(graph, inner), together)

    def takes_any(self, spec: Spec) -> bool:
        """Any number of rows, and of rows that are reduced, unless several are computed
        side by side; any length of rows without steps."""
        graph, inner = graph_seen(spec.key)
        if any(tensor.level.is_registers for tensor in spec.tensors):
            return False
        varying = {dim for one in spec.ranges for dim in one.dims}
        if varying - {inner} and shares_rows(graph, inner):
            return False
        axes = (axis for operand in spec.kind.operands for axis in operand.axes)
        return inner not in varying or all(axis.is_plain for axis in axes)

    def varying_counts(self, frame: Frame, varying: frozenset[int]) -> OpCounts:
        """The operations of rows that vary in length, beside those of settled ones; a
        reduction across them shares these."""
        graph, inner = graph_seen(frame.key)
        if inner not in varying:
            return super().varying_counts(frame, varying)
        plan = one_pass(graph)
        assert plan is not None
        across = inner not in plan.reduced
        rows = [
            frame.sizes[dim]
            for dim in range(len(frame.sizes))
            if dim != inner and not (across and dim in plan.reduced)
        ]
        read, written = ends_of(frame.key, graph, inner)
        masked = takes_masks(self.isa, read)
        group = self.unroll if masked or plan.reduced else 1
        lanes = self.isa.lanes(computed_in(frame.key.dtypes))
        operations = operations_of(frame.key, graph, inner, self.isa)
        groups, count = groups_written(group, operations), frame.sizes[inner]
        every = product(tuple(rows))
        return varying_counts(count, lanes, every, group, masked, groups, len(written))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Loops over rows, and in them over vectors."""
        blocking = Blocking(self.unroll, self.together, self.taps)
        GraphWriter(emitter, spec, operands, blocking).write()


@dataclasses.dataclass
class RowCounts:
    """Operation counts of one run of the kernel."""

    frame: Frame
    lanes: int
    unroll: int
    together: int
    taps: int
    vector: Ops
    """In each vector."""
    scalar: int
    """Operations in each row on scalars."""
    stepped: int
    """Operations on scalars at each step of a reduction across rows."""
    late: Ops
    """After each reduction: on scalars, or on vectors across it; what only these read
    is loaded there."""
    late_scalar: int
    casts: dict[int, Ops]
    """The inputs that are loaded as vectors, and what casts each of these."""
    stores: int
    isa: Isa
    reductions: tuple[str, ...]
    """The name of each."""
    chain: int
    """Instructions of a reduction along rows that wait for the vector before."""
    depth: Ops
    """The longest chain of what is computed of a vector."""
    late_depth: Ops
    """The longest chain of what is computed once a row."""

    @classmethod
    def of(cls, frame: Frame, kernel: GraphRows) -> "RowCounts":
        """The counts of each Spec of a frame."""
        isa = kernel.isa
        kind, (graph, inner) = frame.key.kind, graph_seen(frame.key)
        number = computed_in(frame.key.dtypes)
        plan = one_pass(graph)
        assert plan is not None
        along = inner in plan.reduced
        vector: Ops = {}
        late: Ops = {}
        depth: Ops = {}
        late_depth: Ops = {}
        scalar = stepped = late_scalar = 0
        narrow = stored_rounded(graph, kind.values, frame.key.tensors)
        for value in graph.node_values:
            node = graph.node(value)
            counted = counted_node(graph, value, inner, isa, number, narrow.get(value))
            wide = inner in graph.dims_of(value) or inner in node.reduced
            if wide:
                depth = add(depth, counted.chain)
            else:
                late_depth = add(late_depth, counted.chain)
            if value not in plan.late or node.reduced:
                if wide or node.reduced:
                    vector = add(vector, counted.ops)
                elif graph.dims_of(value) & plan.reduced:
                    stepped += counted.operations + counted.reads
                else:
                    scalar += counted.operations + counted.reads
                if node.reduced and not factors_of(graph, value):
                    taken = Running.counted(node.reduction, isa, number, along)
                    vector = add(vector, taken.ops)
            elif inner in graph.dims_of(value):
                late = add(late, counted.ops)
            else:
                late_scalar += counted.operations
        nodes = [graph.node(v) for v in graph.node_values]
        names = tuple(node.reduction for node in nodes if node.reduced)
        running = [Running.counted(name, isa, number, along) for name in names]
        moves = Moves(frame, graph, inner, narrow)
        vector, late = add(vector, moves.vector), add(late, moves.late)
        return cls(
            frame,
            isa.lanes(number),
            kernel.unroll,
            kernel.together,
            kernel.taps,
            vector,
            scalar,
            stepped,
            late,
            late_scalar,
            moves.casts,
            moves.stores,
            isa,
            names,
            max((sum(one.chain.values()) for one in running), default=0),
            depth,
            late_depth,
        )

    def total(self) -> OpCounts:
        """The operation counts of the whole kernel."""
        graph, inner = graph_seen(self.frame.key)
        plan = one_pass(graph)
        assert plan is not None
        sizes, count = self.frame.sizes, self.frame.sizes[inner]
        registers = any(t.level.is_registers for t in self.frame.key.tensors)
        vectors = vectors_of(count, self.lanes)
        rows = product(
            tuple(s for d, s in enumerate(sizes) if d not in plan.reduced | {inner})
        )
        again = product(tuple(sizes[d] for d in plan.reduced - {inner}))
        short = piece_count(count % self.lanes, self.lanes)
        stores: Ops = {"store": self.stores * (count // self.lanes + short)}
        alike = add(times(self.vector, vectors), stores)
        reads = {v: step_of(graph, v, inner) for v in self.casts}
        row = add(alike, self._loads(reads))
        loops = (rows > 1) * 1 + rows * again
        trips = rows + rows * again * -(-vectors // self.unroll)
        if inner in plan.reduced:
            phase = self._along(row, again, vectors, rows)
            return OpCounts((phase,), kernels=1, loops=loops, trips=trips)
        chains = np.minimum(np.maximum(vectors, 1), self.unroll)
        chain: Ops = {"fma": self.chain * -(-vectors // chains)} if self.chain else {}
        alone = 1 - self._together()
        phases = [Phase(row, chain, times=rows * again * alone)]
        if shares_rows(graph, inner):
            phases += self._side_by_side(rows, again, alike)
        if self.scalar or self.stepped:
            scalar = self.scalar + self.stepped * again
            phases.append(Phase({"scalar": scalar}, times=rows))
        if self.reductions:
            phases.append(Phase(self.late, times=rows * vectors))
        if registers:
            return OpCounts(tuple(phases), kernels=0)
        return OpCounts(tuple(phases), kernels=1, loops=loops, trips=trips)

    def _together(self) -> Ints:
        """1 where rows are computed side by side, else 0 (`GraphWriter`)."""
        graph, inner = graph_seen(self.frame.key)
        if not shares_rows(graph, inner):
            return 0
        return (self.frame.sizes[reduced_of(graph, inner)[-1]] <= self.taps) * 1

    def _side_by_side(self, rows: Ints, again: Ints, row: Ops) -> list[Phase]:
        """The phases of rows computed in groups, and of the rows that remain: values
        that the rows of a group share are loaded once, and the latency of one row's sum
        is hidden behind the others."""
        graph, inner = graph_seen(self.frame.key)
        along, sizes = rows_of(graph, inner)[-1], self.frame.sizes
        together = together_of(graph, inner, sizes, self.together)
        groups, rest = sizes[along] // together, sizes[along] % together
        outer = rows // np.maximum(sizes[along], 1)
        phases = []
        for count, many in ((together, groups), (rest, (rest > 0) * 1)):
            loads = self._loads(self._reads(along, again, count))
            often = outer * many * self._together()
            ops = self._inside(add(times(row, count * again), loads))
            phases.append(Phase(ops, times=often))
        return phases

    def _loads(self, reads: dict[int, Ints]) -> Ops:
        """The loads of so many vectors' elements of each value, with what casts them,
        at each vector of a row."""
        _, inner = graph_seen(self.frame.key)
        count = self.frame.sizes[inner]
        often: Ints = sum(reads.values())
        loads: Ops = {
            "load": often * (count // self.lanes),
            "masked_load": often * tail_of(count, self.lanes),
        }
        vectors = vectors_of(count, self.lanes)
        return add(
            loads, *(times(self.casts[v], reads[v] * vectors) for v in self.casts)
        )

    def _inside(self, ops: Ops) -> Ops:
        """The operations of the taps that are inside the image."""
        graph, _ = graph_seen(self.frame.key)
        sides = Sides.of(graph, self.frame.sizes)
        shares = [] if sides is None else [sides.share(dim) for dim in sides.strips]
        for inside, every in shares:
            ops = {op: count * inside // every for op, count in ops.items()}
        return ops

    def _reads(self, along: int, again: Ints, count: Ints) -> dict[int, Ints]:
        """How often so many rows side by side load a vector of each value, all that is
        reduced."""
        sizes = self.frame.sizes
        graph, inner = graph_seen(self.frame.key)
        plan = one_pass(graph)
        assert plan is not None
        reads: dict[int, Ints] = {}
        for value in self.casts:
            dims, step = graph.dims_of(value), step_of(graph, value, inner)
            if along not in dims:
                reads[value] = again * step
                continue
            each = again * count * step
            for axis in graph.axes(value):
                if not axis.is_plain and along in axis.dims:
                    places: Ints = 1
                    reach = axis.steps[along] * (count - 1) + 1
                    for dim, places_apart in axis.terms:
                        if dim in plan.reduced:
                            places = places * sizes[dim]
                            reach = reach + places_apart * (sizes[dim] - 1)
                    reach = (reach - 1) // axis.divisor + 1
                    distinct = np.minimum(reach, places * count)
                    each = again // np.maximum(places, 1) * distinct * step
            reads[value] = each
        return reads

    def _along(self, row: Ops, again: Ints, vectors: Ints, rows: Ints) -> Phase:
        """The phase in which vectors of some rows are reduced to one number each.

        Args:
            row: of one pass over a row.
            again: how many of these are reduced together.
            vectors: in each.
            rows: that remain.
        """
        steps = self.lanes.bit_length() - 1
        chains = np.minimum(np.maximum(vectors, 1), self.unroll)
        number, count = computed_in(self.frame.key.dtypes), len(self.reductions)
        sizes, (_, inner) = self.frame.sizes, graph_seen(self.frame.key)
        ends: Ops = {
            "shuffle": count * steps,
            "vector_op": count * tail_of(sizes[inner], self.lanes),
            "scalar": self.scalar + self.stepped * again + 3 * count + self.late_scalar,
        }
        for name in self.reductions:
            pair = Running.counted(name, self.isa, number, along=False)
            carried = Running.carried(name, self.isa, number, chains)
            ends = add(ends, times(pair.ops, steps + carried - 1))
        chain: Ops = {"fma": self.chain * -(-vectors * again // chains)}
        # In a long row the chain of a vector is hidden behind other vectors.
        shown = {op: n * chains // (vectors * again) for op, n in self.depth.items()}
        latency = add(shown, self.late_depth, {"fma": 2 * steps})
        return Phase(add(times(row, again), ends), chain, times=rows, latency=latency)

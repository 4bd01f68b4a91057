"""From programs to a schedule: a transform script that makes them.

`build_schedule` writes a schedule, `continue_schedule` goes on with a given one. A
program that is used in several places becomes a named sequence of its own, which is
included there.
"""

import collections
import dataclasses
import itertools
from collections.abc import Sequence

from morello.actions import Select
from morello.dialect.transform import build_action_op, roles_of
from morello.mlir import dialect, ir
from morello.passes.apply_schedule import ENTRY, MARK, named_sequences
from morello.search import Impl
from morello.spec import Spec

transform = dialect("transform")

ID_ATTRIBUTE = "morello.id"
"""On a Spec op that a schedule is for: how the schedule finds it."""


@dataclasses.dataclass(frozen=True)
class Goal:
    """A Spec op and its program."""

    op: ir.Operation
    impl: Impl


@dataclasses.dataclass(frozen=True)
class Hole:
    """A handle to Spec ops that a schedule leaves, and their program."""

    handle: ir.Value
    block: ir.Block
    """Where the handle is defined; its terminator stays the last op."""
    impl: Impl


def build_schedule(module: ir.Operation, goals: Sequence[Goal]) -> None:
    """Mark the Spec ops of ``goals`` and append their schedule to ``module``."""
    with module.context, ir.Location.unknown():
        module.attributes[MARK] = ir.UnitAttr.get()
        builder = _Builder(module, [goal.impl for goal in goals])
        builder.entry(goals)


def continue_schedule(module: ir.Operation, holes: Sequence[Hole]) -> None:
    """Append to the schedule of ``module`` what makes the programs of ``holes``."""
    with module.context, ir.Location.unknown():
        builder = _Builder(module, [hole.impl for hole in holes])
        for hole in holes:
            builder.fill(hole)


def _shared(impls: Sequence[Impl]) -> set[Spec]:
    """The Specs whose programs are used in several places and are worth a name."""
    uses: collections.Counter[Spec] = collections.Counter()
    pending = list(impls)
    seen: set[Spec] = set()
    while pending:
        impl = pending.pop()
        uses[impl.spec] += 1
        if impl.spec not in seen:
            seen.add(impl.spec)
            pending.extend(b.impl for b in impl.branches)
    programs = {below.spec: below for impl in impls for below in _distinct(impl)}
    return {
        spec
        for spec, count in uses.items()
        if count > 1 and not isinstance(programs[spec].action, Select)
    }


def _distinct(impl: Impl) -> list[Impl]:
    """Every Impl below ``impl`` and itself, each once; holes before what has them."""
    found: dict[Spec, Impl] = {}

    def visit(node: Impl) -> None:
        if node.spec in found:
            return
        for branch in node.branches:
            visit(branch.impl)
        found[node.spec] = node

    visit(impl)
    return list(found.values())


class _Builder:
    """Writes named sequences at the end of a module, first those of shared programs."""

    def __init__(self, module: ir.Operation, impls: Sequence[Impl]) -> None:
        self.block = module.regions[0].blocks[0]
        self.shared = _shared(impls)
        self.names: dict[Spec, str] = {}
        self.taken = set(named_sequences(module))
        self.handle = transform.AnyOpType.get()
        for impl in impls:
            self._define_below(impl)

    def fill(self, hole: Hole) -> None:
        """The program of a hole, at the end of the block of its handle."""
        with ir.InsertionPoint.at_block_terminator(hole.block):
            handle = hole.handle
            if handle.type != self.handle:
                handle = transform.CastOp(self.handle, handle).results[0]
            self._place(hole.impl, handle)

    def _define_below(self, impl: Impl) -> None:
        """A named sequence for each shared program, those that it includes first."""
        for node in _distinct(impl):
            if node.spec in self.shared and node.spec not in self.names:
                name = self._name(node.spec)
                block = self._sequence(name, "transform.consumed")
                with ir.InsertionPoint(block):
                    self._write(node, block.arguments[0])
                    transform.YieldOp([])
                self.names[node.spec] = name

    def entry(self, goals: Sequence[Goal]) -> None:
        """The sequence that is run."""
        block = self._sequence(ENTRY, "transform.readonly")
        with ir.InsertionPoint(block):
            for index, goal in enumerate(goals):
                mark = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
                goal.op.attributes[ID_ATTRIBUTE] = mark
                found = ir.Operation.create(
                    "transform.structured.match",
                    results=[self.handle],
                    operands=[block.arguments[0]],
                    attributes={
                        "ops": ir.ArrayAttr.get([ir.StringAttr.get(goal.op.name)]),
                        "op_attrs": ir.DictAttr.get({ID_ATTRIBUTE: mark}),
                    },
                )
                self._place(goal.impl, found.results[0])
            transform.YieldOp([])

    def _name(self, spec: Spec) -> str:
        base = f"{spec.kind.label}_{'x'.join(map(str, spec.sizes))}"
        later = (f"{base}_{count}" for count in itertools.count(2))
        names = itertools.chain([base], later)
        name = next(name for name in names if name not in self.taken)
        self.taken.add(name)
        return name

    def _sequence(self, name: str, effect: str) -> ir.Block:
        """An empty named sequence that takes one handle."""
        effects = ir.ArrayAttr.get([ir.DictAttr.get({effect: ir.UnitAttr.get()})])
        kind = ir.FunctionType.get([self.handle], [])
        sequence = ir.Operation.create(
            "transform.named_sequence",
            regions=1,
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(kind),
                "arg_attrs": effects,
            },
            ip=ir.InsertionPoint(self.block),
        )
        return sequence.regions[0].blocks.append(self.handle)

    def _place(self, impl: Impl, handle: ir.Value) -> None:
        """The program of ``impl`` on ``handle``: included, or written out."""
        name = self.names.get(impl.spec)
        if name is None:
            self._write(impl, handle)
            return
        propagate = transform.FailurePropagationMode.Propagate
        transform.IncludeOp([], ir.FlatSymbolRefAttr.get(name), propagate, [handle])

    def _write(self, impl: Impl, handle: ir.Value) -> None:
        handles = build_action_op(impl.action, handle)
        roles = roles_of(type(impl.action))
        for branch in impl.branches:
            self._place(branch.impl, handles[roles.index(branch.role)])

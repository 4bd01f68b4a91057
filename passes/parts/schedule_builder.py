"""From programs to a schedule: a transform script that makes them.

`build_schedule` writes a schedule, `continue_schedule` goes on with a given one. A
program that is used in several places becomes a named sequence of its own, which is
included there.
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from morello.actions import Action, Select
from morello.dialect.attributes import i64_attr
from morello.dialect.transform import build_action_op, roles_of
from morello.mlir import dialect, ir
from morello.passes.apply_schedule import ENTRY, MARK, named_sequences
from morello.search import Impl
from morello.spec import Spec

transform = dialect("transform")

ID_ATTRIBUTE = "morello.id"
"""Attribute by which a schedule finds the Spec op that it is for."""


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
    """Block where the handle is defined; its terminator stays the last op."""
    impl: Impl


def build_schedule(module: ir.Operation, goals: Sequence[Goal]) -> None:
    """Mark the Spec ops of ``goals`` and append their schedule to ``module``."""
    with module.context, ir.Location.unknown():
        module.attributes[MARK] = ir.UnitAttr.get()
        builder = _Builder(module, [goal.impl for goal in goals])
        builder.entry(goals)


def continue_schedule(module: ir.Operation, holes: Sequence[Hole]) -> None:
    """Append the programs of ``holes`` to the schedule of ``module``."""
    with module.context, ir.Location.unknown():
        builder = _Builder(module, [hole.impl for hole in holes])
        for hole in holes:
            builder.fill(hole)


class _Programs:
    """The programs of some Impls, each once: equal ones have one number.

    A Spec may have several: where a person has decided, it may be done otherwise than
    where the search has.
    """

    def __init__(self, impls: Sequence[Impl]) -> None:
        self._numbers: dict[tuple[Spec, Action, tuple[int, ...]], int] = {}
        self._known: dict[int, int] = {}
        self.distinct: list[Impl] = []
        """By number; a hole comes before the program that has it."""
        for impl in impls:
            self._visit(impl)
        self.shared = self._shared(impls)
        """Programs that are used in several places and are worth a name."""

    def number(self, impl: Impl) -> int:
        """The number of a program."""
        return self._known[id(impl)]

    def _visit(self, impl: Impl) -> int:
        known = self._known.get(id(impl))
        if known is not None:
            return known
        below = tuple(self._visit(branch.impl) for branch in impl.branches)
        number = self._numbers.setdefault(
            (impl.spec, impl.action, below), len(self.distinct)
        )
        if number == len(self.distinct):
            self.distinct.append(impl)
        self._known[id(impl)] = number
        return number

    def _shared(self, impls: Sequence[Impl]) -> set[int]:
        uses: collections.Counter[int] = collections.Counter()
        for impl in (*impls, *self._used()):
            uses[self.number(impl)] += 1
        return {
            number
            for number, count in uses.items()
            if count > 1 and not isinstance(self.distinct[number].action, Select)
        }

    def _used(self) -> Iterator[Impl]:
        for impl in self.distinct:
            for branch in impl.branches:
                yield branch.impl


class _Builder:
    """Writes named sequences at the end of a module, shared programs first."""

    def __init__(self, module: ir.Operation, impls: Sequence[Impl]) -> None:
        self.block = module.regions[0].blocks[0]
        self.programs = _Programs(impls)
        self.names: dict[int, str] = {}
        self.taken = set(named_sequences(module))
        self.handle = transform.AnyOpType.get()
        self._define()

    def fill(self, hole: Hole) -> None:
        """The program of a hole, at the end of the block of its handle."""
        with ir.InsertionPoint.at_block_terminator(hole.block):
            handle = hole.handle
            if handle.type != self.handle:
                handle = transform.CastOp(self.handle, handle).results[0]
            self._place(hole.impl, handle)

    def _define(self) -> None:
        """A named sequence for each shared program, after the ones that it includes."""
        for number, impl in enumerate(self.programs.distinct):
            if number in self.programs.shared:
                name = self._name(impl.spec)
                block = self._sequence(name, "transform.consumed")
                with ir.InsertionPoint(block):
                    self._write(impl, block.arguments[0])
                    transform.YieldOp([])
                self.names[number] = name

    def entry(self, goals: Sequence[Goal]) -> None:
        """The sequence that is run."""
        block = self._sequence(ENTRY, "transform.readonly")
        with ir.InsertionPoint(block):
            for index, goal in enumerate(goals):
                mark = i64_attr(index)
                goal.op.attributes[ID_ATTRIBUTE] = mark
                match = ir.Operation.create(
                    "transform.structured.match",
                    results=[self.handle],
                    operands=[block.arguments[0]],
                    attributes={
                        "ops": ir.ArrayAttr.get([ir.StringAttr.get(goal.op.name)]),
                        "op_attrs": ir.DictAttr.get({ID_ATTRIBUTE: mark}),
                    },
                )
                self._place(goal.impl, match.results[0])
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
        """Program of ``impl`` on ``handle``: included, or inlined."""
        name = self.names.get(self.programs.number(impl))
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

"""How an action becomes a transform op.

`ActionOp.define` makes the op of an action from the action's fields: one attribute a
field, one operand (a handle to Spec ops, consumed), and one result handle for each hole
that the action may leave, in order. A hole that a Spec does not have leaves nothing in
its handle. A handle to several ops is rewritten op by op.

Legality and child Specs come from `Action.apply` alone: it is asked for every op of
the handle before the first is rewritten, and the rewriting (one module an action)
builds the holes that it predicts. What does not apply is a definite failure, reported
at the transform op.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from morello.actions import Action, Hole, Rewrite
from morello.dialect.build import build_spec_op, spec_of
from morello.dialect.definition import Operand, Result, transform
from morello.dialect.ops import SPEC_OPS
from morello.dialect.places import place
from morello.dialect.sizes import pass_sizes
from morello.dialect.spec_op import verified
from morello.dialect.target import target_of
from morello.dialect.transform.definition import MorelloTransform
from morello.dialect.transform.fields import (
    field_forms,
    optional_fields,
    read_action,
)
from morello.dialect.transform.price import charge, pass_goal, target_in_context
from morello.dialect.transform.trace import record
from morello.errors import MorelloError, ScheduleError
from morello.lazy import cached_property
from morello.mlir import ir
from morello.spec import Spec

Left = Mapping[str, ir.Operation]
"""The op that a rewriting leaves for each role."""


@dataclasses.dataclass(frozen=True)
class Site:
    """A Spec op that is being rewritten; the insertion point is before it."""

    op: ir.Operation
    spec: Spec
    rewrite: Rewrite

    @property
    def operands(self) -> list[ir.Value]:
        """The memref operands of the op."""
        return list(self.op.operands)

    @property
    def holes(self) -> dict[str, Hole]:
        """The holes that the action predicts, by role."""
        return {hole.role: hole for hole in self.rewrite.holes}

    def fill(self, operands: Mapping[str, Sequence[ir.Value]]) -> Left:
        """The op of each hole, given the memrefs of every role that may have one."""
        return {
            role: build_spec_op(hole.spec, operands[role])
            for role, hole in self.holes.items()
        }

    @property
    def itself(self) -> Hole:
        """The Spec as a hole: a kernel takes its place."""
        return Hole("", self.spec, 1, tuple(range(len(self.spec.ranges))))


MOST_SPECS = 10_000
"""The most Specs of one handle. Every action can double them, so a short schedule could
ask for any number."""

Build = Callable[[Site, Any], Left]
"""Builds what replaces the op of a site, given the action; cannot fail."""


@dataclasses.dataclass(frozen=True)
class ActionOp:
    """The transform op of an action.

    Args:
        action: the action; the op has its name and its fields.
        roles: the names of the result handles, in order.
        build: writes the IR.
        view: the class of the op in the bindings.
    """

    action: type[Action]
    roles: tuple[str, ...]
    build: Build
    view: Any

    @classmethod
    def define(
        cls, action: type[Action], roles: tuple[str, ...], build: Build
    ) -> "ActionOp":
        """Add the op of an action to the dialect (when its module is imported)."""
        body: dict[str, Any] = {
            "__doc__": action.__doc__,
            "__annotations__": _annotations(action, roles),
            "verify_invariants": staticmethod(
                lambda op: verified(op, lambda: _check(action, op))
            ),
        }
        base = MorelloTransform.Operation
        view = types.new_class(
            f"{action.__name__}Op",
            (base,),
            {"name": action.name},
            lambda n: n.update(body),
        )
        return cls(action, roles, build, view)

    @property
    def name(self) -> str:
        """The name of the op: ``morello_transform.…``."""
        return f"{MorelloTransform.DIALECT_NAMESPACE}.{self.action.name}"

    def attach(self) -> None:
        """Give the op its interfaces in the current context."""
        self._interface.attach(self.name)
        _HandleEffects.attach(self.name)

    @cached_property
    def _interface(self) -> Any:
        """One class for all contexts, since each context keeps what is attached."""
        row = self

        class Interface(transform.TransformOpInterface):
            """Runs the rewriting."""

            @staticmethod
            def apply(op: Any, rewriter: Any, results: Any, state: Any) -> Any:
                """Apply the action to every op of the handle."""
                return row.apply(op, rewriter, results, state)

            @staticmethod
            def allow_repeated_handle_operands(op: Any) -> bool:
                """There is one handle."""
                return False

        return Interface

    def apply(self, op: Any, rewriter: Any, results: Any, state: Any) -> Any:
        """Rewrite every op of the handle of the transform op ``op``."""
        payload = list(state.get_payload_ops(op.target))
        if len(payload) > MOST_SPECS:
            op.location.emit_error(
                f"'{self.name}' op is given {len(payload):,} Specs at once; at most "
                f"{MOST_SPECS:,}: tile in fewer parts"
            )
            return transform.DiagnosedSilenceableFailure.DefiniteFailure
        action = read_action(self.action, op)
        sites = []
        for target in payload:
            try:
                sites.append(_plan(action, target))
            except MorelloError as error:
                op.location.emit_error(_refusal(self.name, error, target))
                return transform.DiagnosedSilenceableFailure.DefiniteFailure
        left: dict[str, list[ir.Operation]] = {role: [] for role in self.roles}
        for site in sites:
            with ir.InsertionPoint(site.op), site.op.location:
                children = self.build(site, action)
            for role, child in children.items():
                left[role].append(child)
                pass_goal(site.op, child)
                if site.spec.ranges:
                    hole = site.holes.get(role) or site.itself
                    pass_sizes(site.op, site.spec, child, hole)
            record(site.op, action, site.rewrite, children)
            try:
                charge(site.op, site.rewrite.cost)
            except MorelloError as error:
                op.location.emit_error(_refusal(self.name, error, site.op))
                return transform.DiagnosedSilenceableFailure.DefiniteFailure
            rewriter.erase_op(site.op)
        for result, role in zip(op.results, self.roles, strict=True):
            results.set_ops(result, left[role])
        return transform.DiagnosedSilenceableFailure.Success


class _HandleEffects(ir.MemoryEffectsOpInterface):
    """The handle is consumed, new ones are made, the payload changes."""

    @staticmethod
    def get_effects(op: Any, effects: Any) -> None:
        """Declare effects: consumed handle, produced handles, modified payload."""
        transform.consumes_handle(op.op_operands, effects)
        transform.produces_handle(op.results, effects)
        transform.modifies_payload(effects)


ACTION_OPS: dict[str, ActionOp] = {}
"""The op of each action, by the action's name."""


def op_of(action: type[Action], *roles: str) -> Callable[[Build], Build]:
    """Add the op of an action to the dialect: the function that follows writes its IR.

    Args:
        roles: the names of the result handles, in order.
    """

    def add(build: Build) -> Build:
        ACTION_OPS[action.name] = ActionOp.define(action, roles, build)
        return build

    return add


def _annotations(action: type[Action], roles: tuple[str, ...]) -> dict[str, Any]:
    """The declaration of the op's operand, attributes and results."""
    handle = transform.AnyOpType
    optional = optional_fields(action)  # the bindings know no optional attributes
    forms = field_forms(action)
    fields = {n: form.constraint for n, form in forms.items() if n not in optional}
    clash = {"target", *forms} & set(roles)
    if clash or "target" in forms:
        raise TypeError(f"{action.__name__}: a field and a handle are called {clash}")
    return {"target": Operand[handle], **fields, **dict.fromkeys(roles, Result[handle])}


def _check(action: type[Action], op: ir.OpView) -> None:
    read_action(action, op)


def _plan(action: Action, op: ir.Operation) -> Site:
    """Apply the action to one payload op: the op, its Spec and the rewrite.

    Raises:
        MorelloError: it does not apply.
    """
    name = op.operation.name
    if name not in SPEC_OPS:
        raise ScheduleError(
            f"{action.name} applies to a Spec op, not to '{name}'",
            f"match one of {', '.join(SPEC_OPS)}",
        )
    spec = spec_of(op)
    target = target_in_context(op, spec, target_of(op))
    return Site(op, spec, action.apply(spec, target))


def _refusal(name: str, error: MorelloError, payload: ir.Operation) -> str:
    return f"'{name}' op {error}\nnote: the payload op is at {place(payload.location)}"

"""A trace of a schedule: the decisions that it makes, step by step.

Within `tracing` every Spec op that an action rewrites is recorded as a `Step`: the
action, and the number of each child Spec op. Numbers are attributes of the ops;
`number` assigns those of the initial ops.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from morello.actions import Action, Rewrite
from morello.dialect.attributes import i64_attr
from morello.mlir import ir

NODE_ATTRIBUTE = "morello.node"
"""On a Spec op: its number in a trace."""


@dataclasses.dataclass(frozen=True)
class Step:
    """The rewriting of one Spec op."""

    action: Action
    holes: tuple[int, ...]
    """The numbers of the Spec ops that are left, in the order of the action's holes."""


class Trace:
    """The steps of a schedule, by the number of the op that each has rewritten."""

    def __init__(self) -> None:
        self.steps: dict[int, Step] = {}
        self._count = 0

    def number(self, op: ir.Operation) -> int:
        """Give an op a number."""
        number = self._count
        self._count += 1
        with op.context:
            op.attributes[NODE_ATTRIBUTE] = i64_attr(number)
        return number


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)


@contextlib.contextmanager
def tracing() -> Iterator[Trace]:
    """Record what schedules do in this context."""
    trace = Trace()
    token = _TRACE.set(trace)
    try:
        yield trace
    finally:
        _TRACE.reset(token)


def record(
    op: ir.Operation, action: Action, rewrite: Rewrite, left: Mapping[str, ir.Operation]
) -> None:
    """Add a rewrite to the trace, if one is being recorded.

    Args:
        op: the Spec op that is rewritten.
        action: by what.
        rewrite: what the action makes of its Spec.
        left: the op for each role.
    """
    trace = _TRACE.get()
    if trace is None or NODE_ATTRIBUTE not in op.attributes:
        return
    number = int(ir.IntegerAttr(op.attributes[NODE_ATTRIBUTE]).value)
    holes = tuple(trace.number(left[hole.role]) for hole in rewrite.holes)
    trace.steps[number] = Step(action, holes)

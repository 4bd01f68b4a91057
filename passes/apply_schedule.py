"""`morello-apply-schedule`: run the schedule that a module holds.

A schedule is the named sequence ``@__transform_main``, whose argument is a handle to
the module, and the sequences that it includes::

    module attributes {transform.with_named_sequence} {
      func.func @f(…) { "morello.matmul"(…) {…} … }
      transform.named_sequence @__transform_main(%root: !transform.any_op
                                                 {transform.readonly}) {
        %0 = transform.structured.match ops{["morello.matmul"]} in %root : …
        %main, %rest = "morello_transform.tile"(%0) {dim = "m", size = 48 : i64} : …
        transform.include @leaf failures(propagate) (%main) : …
        transform.yield
      }
    }
"""

import dataclasses
import re
from typing import ClassVar

from morello.dialect import load
from morello.dialect.places import place
from morello.dialect.target import TARGET_ATTRIBUTE, named_target
from morello.errors import MorelloError
from morello.machine import find_target, parse_target, print_target
from morello.mlir import dialect, ir
from morello.passes.base import Pass, PassFailure, option

ENTRY = "__transform_main"
"""The named sequence that is run."""

MARK = "transform.with_named_sequence"
"""The attribute of a module that may hold named sequences."""

_SEQUENCE = "transform.named_sequence"
_FAILED = "Failed to apply named transform sequence"


@dataclasses.dataclass(frozen=True)
class ApplySchedule(Pass):
    """Run the schedule in the module, then erase it.

    Before: a module with Spec ops and a schedule. After: the loops and kernels of the
    schedule, no named sequence, no ``transform.with_named_sequence``; Spec ops that the
    schedule leaves remain. ``morello.target`` on the module names the target. Refuses:
    a missing or unreadable schedule; an action that does not apply, at its op.
    """

    name: ClassVar[str] = "morello-apply-schedule"

    target: str = option(
        "", "name of the target; if empty, the module's target, or else avx2"
    )

    def __post_init__(self) -> None:
        if self.target:
            find_target(self.target)

    def run(self, module: ir.Operation) -> None:
        """Rewrite ``module`` by the schedule that it holds.

        Raises:
            PassFailure: at the transform op, or at the module.
        """
        load(module.context)
        with module.context:
            entry = entry_sequence(module)
            self._set_target(module)
            interpret(module, entry)
            _erase_schedule(module)

    def _set_target(self, module: ir.Operation) -> None:
        """Record the target in the module, for the transform ops and later passes."""
        try:
            recorded = named_target(module)
            held = None if recorded is None else parse_target(recorded)
        except MorelloError as error:
            raise PassFailure(module.location, str(error)) from error
        if not self.target:
            return
        wanted = find_target(self.target)
        if held not in (None, wanted):
            raise PassFailure(
                module.location,
                f"the module is for the target '{recorded}', but the option says "
                f"'{self.target}'; leave one of them out",
            )
        text = ir.StringAttr.get(print_target(wanted))
        module.attributes[TARGET_ATTRIBUTE] = text


def named_sequences(module: ir.Operation) -> dict[str, ir.Operation]:
    """The named sequences of the module, by name."""
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == _SEQUENCE
    }


def entry_sequence(module: ir.Operation) -> ir.Operation:
    """The named sequence with which a schedule begins.

    Raises:
        PassFailure: there is none, or it does not take one handle to the module.
    """
    sequences = named_sequences(module)
    if ENTRY not in sequences:
        others = ", ".join(f"@{name}" for name in sequences)
        raise PassFailure(
            module.location,
            f"the module holds no schedule: it has no {_SEQUENCE} @{ENTRY}"
            f"{f', only {others}' if others else ''}; write one, or run "
            "morello-synthesize first",
        )
    entry = sequences[ENTRY]
    blocks = entry.regions[0].blocks
    if not len(blocks):
        raise PassFailure(entry.location, f"@{ENTRY} has no body; write one")
    arguments = [str(argument.type) for argument in blocks[0].arguments]
    if arguments not in (["!transform.any_op"], ['!transform.op<"builtin.module">']):
        raise PassFailure(
            entry.location,
            f"@{ENTRY} takes ({', '.join(arguments)}); it must take one handle to the "
            "module: (%root: !transform.any_op {transform.readonly})",
        )
    return entry


def interpret(module: ir.Operation, entry: ir.Operation) -> None:
    """Run the schedule.

    Raises:
        PassFailure: at the transform op that has failed.
    """
    interpreter = dialect("transform").interpreter
    try:
        interpreter.apply_named_sequence(module, entry, module)
    except ValueError as error:
        if not str(error).startswith(_FAILED):
            raise
        location, message = _diagnostic(str(error), entry.location)
        raise PassFailure(location, message) from error


def _erase_schedule(module: ir.Operation) -> None:
    for sequence in named_sequences(module).values():
        sequence.erase()
    if MARK in module.attributes:
        del module.attributes[MARK]


_PLACE = re.compile(r"(?:^|\n)(?:Diagnostic message )?at (?=loc\()")


def _diagnostic(text: str, default: ir.Location) -> tuple[ir.Location, str]:
    """Location and message out of the text in which the bindings put all diagnostics.

    The first is the error; the others are its notes and stay in the message.
    """
    diagnostics = []
    for part in _PLACE.split(text)[1:]:
        end = _location_end(part)
        diagnostics.append((part[:end], part[end:].removeprefix(":").strip()))
    told = [(where, message) for where, message in diagnostics if message]
    if not told:
        return default, "the schedule has failed, and upstream does not say why"
    first, message = told[0]
    for where, note in told[1:]:
        message += f"\nnote: {place(where)}: {note}"
    return _location(first) or default, message


def _location_end(text: str) -> int:
    """Find the end of the ``loc(…)`` that begins a text; parentheses in strings are
    text."""
    depth, quoted, escaped = 0, False, False
    for i, char in enumerate(text):
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
            continue
        quoted = char == '"'
        depth += (char == "(") - (char == ")")
        if char == ")" and depth == 0:
            return i + 1
    return len(text)


def _location(text: str) -> ir.Location | None:
    """The location that a text is, in the current context."""
    try:
        holder = ir.Module.parse(f"module {{}} {text}")
    except ir.MLIRError:
        return None
    return holder.operation.location

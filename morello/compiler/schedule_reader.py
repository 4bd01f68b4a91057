"""The text of a schedule, from anyone: what is taken of it, and what is refused.

A schedule is data. Of its module only the named sequences are taken, made of the ops of
actions and of those that hand handles on; the function is built anew from the Spec.
Everything else is refused at its place in the text, so that code, calls and arguments
of others never reach a kernel.
"""

import re
from collections.abc import Iterator

from morello.dialect import in_context
from morello.dialect.attributes import attribute_of, int_of
from morello.dialect.build import spec_function, spec_of
from morello.dialect.operand_groups import SEGMENTS
from morello.dialect.ops import SPEC_OPS, spec_ops
from morello.dialect.options import option_forms
from morello.dialect.places import plain_location
from morello.dialect.sizes import SIZES_ATTRIBUTE
from morello.dialect.spec_op import spec_attributes
from morello.dialect.target import TARGET_ATTRIBUTE, named_target
from morello.dialect.transform import ACTION_OPS
from morello.errors import MorelloError, ScheduleError, SpecError
from morello.mlir import ir
from morello.passes.apply_schedule import MARK
from morello.passes.parts.schedule_builder import ID_ATTRIBUTE
from morello.spec import Spec

HANDLE_OPS = frozenset(
    {
        "transform.cast",
        "transform.foreach",
        "transform.include",
        "transform.split_handle",
        "transform.structured.match",
        "transform.yield",
    }
)
"""Upstream's ops that a schedule may have: they find Spec ops and hand handles on."""

MOST_STEPS = 100_000
"""Ops that a run of a schedule may take. The search's schedules take a few hundred."""

MOST_CHARACTERS = 1 << 24
"""Maximum length of a schedule's text. The search's have some thousands."""

DEEPEST = 200
"""How deep brackets may be nested in it. The search's are nested six deep."""

_SEQUENCE = "transform.named_sequence"
_INCLUDE = "transform.include"
_FOREACH = "transform.foreach"
_ALLOWED = HANDLE_OPS | {row.name for row in ACTION_OPS.values()}


def read_schedule(text: str, spec: Spec) -> ir.Module:
    """The module of a schedule, in the current context, its function built anew.

    Args:
        text: a module with the Spec and its schedule.
        spec: the Spec that it must be for.

    Raises:
        ScheduleError: the text cannot be read, is for another Spec, or holds anything
            but the Spec and its schedule; begins with the place in the text.
    """
    module = _parse(text)
    _check_module(module)
    _check_goal(module, spec)
    function = _function(module)
    _check_function(function, spec)
    for sequence in _sequences(module):
        _check_sequence(sequence)
    _check_length(module)
    try:
        _renew(function, spec)
    except SpecError as error:
        raise _refusal(spec_ops(function)[0], str(error)) from error
    return module


def named_target_in(text: str) -> str | None:
    """The target that the module of a schedule names, if any.

    Raises:
        ScheduleError: the text cannot be read.
    """
    with in_context():
        module = _parse(text)
        try:
            return named_target(module.operation)
        except SpecError as error:
            raise _refusal(module.operation, str(error)) from error


def _parse(text: str) -> ir.Module:
    _check_text(text)
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise ScheduleError(
            f"the schedule is not a module of MLIR: {message_of(error)}",
            "start from the text of Kernel.schedule",
        ) from error


_TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*|->|[\[({<]|[\])}>]|-(?:\s*-)*')
"""Strings, comments and arrows, which hide brackets; brackets; and minus signs."""


def _check_text(text: str) -> None:
    """Refuse what MLIR's parser, which calls itself, could not survive.

    Raises:
        ScheduleError: brackets are nested too deeply, or it is no Unicode text.
    """
    if len(text) > MOST_CHARACTERS:
        raise ScheduleError(
            f"the schedule has {len(text):,} characters",
            f"give one of at most {MOST_CHARACTERS:,}",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ScheduleError(
            f"{_place_at(text, error.start)}: the schedule holds a character that is "
            "no Unicode text"
        ) from error
    depth = 0
    for token in _TOKENS.finditer(text):
        word = token[0]
        if word in "[({<":
            depth += 1
        elif word in "])}>":
            depth = max(depth - 1, 0)
        if depth > DEEPEST or (word[0] == "-" and word.count("-") > DEEPEST):
            raise ScheduleError(
                f"{_place_at(text, token.start())}: the schedule is nested more than "
                f"{DEEPEST} deep"
            )


def _place_at(text: str, offset: int) -> str:
    """A place in a text as MLIR writes it."""
    line_start = text.rfind("\n", 0, offset) + 1
    return f'"-":{text.count(chr(10), 0, offset) + 1}:{offset - line_start + 1}'


def message_of(error: ir.MLIRError) -> str:
    """The diagnostics of an error in a line, each with its place."""
    messages = []
    for diagnostic in error.error_diagnostics:
        messages.append(f"{place_text(diagnostic.location)}: {diagnostic.message}")
    return "; ".join(messages) or str(error)


def place_text(location: ir.Location) -> str:
    """A location as it stands in messages: ``"-":12:5``."""
    return str(location).removeprefix("loc(").removesuffix(")")


def function_of(module: ir.Module) -> ir.Operation:
    """The first function of a module."""
    return next(_named(module, "func.func"))


def _refusal(op: ir.Operation, what: str, remedy: str = "") -> ScheduleError:
    return ScheduleError(f"{place_text(op.location)}: {what}", remedy)


def _named(module: ir.Module, name: str) -> Iterator[ir.Operation]:
    for op in module.body.operations:
        if op.operation.name == name:
            yield op.operation


def _sequences(module: ir.Module) -> Iterator[ir.Operation]:
    return _named(module, _SEQUENCE)


def _check_attributes(op: ir.Operation, allowed: set[str]) -> None:
    """Refuse attributes that a schedule has no use for.

    Raises:
        ScheduleError: at the op.
    """
    for name in op.attributes:
        if name not in allowed:
            raise _refusal(
                op,
                f"the attribute '{name}' of '{op.name}' is no part of a schedule",
                "remove it",
            )


def _check_module(module: ir.Module) -> None:
    _check_attributes(module.operation, {TARGET_ATTRIBUTE, MARK})
    for op in module.body.operations:
        if op.operation.name not in ("func.func", _SEQUENCE):
            raise _refusal(
                op.operation,
                f"'{op.operation.name}' is no part of a schedule",
                "keep the function that holds the Spec, and the named sequences",
            )


def _check_goal(module: ir.Module, spec: Spec) -> None:
    ops = spec_ops(module.operation)
    try:
        specs = [spec_of(op) for op in ops]
    except MorelloError as error:
        raise ScheduleError(f"the schedule's Spec cannot be read: {error}") from error
    if specs != [spec]:
        held = "; ".join(map(str, specs)) or "none"
        place = f"{place_text(ops[0].location)}: " if ops else ""
        raise ScheduleError(
            f"{place}the schedule is for another Spec than {spec}: its module holds "
            f"{held}"
        )


def _function(module: ir.Module) -> ir.Operation:
    functions = list(_named(module, "func.func"))
    if len(functions) != 1:
        raise ScheduleError(
            f"the schedule's module has {len(functions)} functions",
            "keep the one that holds the Spec",
        )
    return functions[0]


def _check_function(function: ir.Operation, spec: Spec) -> None:
    """Refuse a function that is more than its Spec op on its arguments, in order.

    Raises:
        ScheduleError: at the op that is too much.
    """
    _check_attributes(function, {"sym_name", "function_type", SIZES_ATTRIBUTE})
    wanted = function_of(_anew(function, spec)).attributes["function_type"]
    actual = function.attributes["function_type"]
    if actual != wanted:
        raise _refusal(
            function,
            f"the function has the type {actual}, but the Spec's operands make it "
            f"{wanted}",
            "take the operands as arguments, in order, and nothing else",
        )
    blocks = list(function.regions[0].blocks)
    ops = [op.operation for block in blocks for op in block.operations]
    for op in ops:
        if op.name not in (*SPEC_OPS, "func.return"):
            raise _refusal(
                op, f"'{op.name}' is beside the Spec in its function", "remove it"
            )
    if len(blocks) != 1 or len(ops) != 2:
        raise _refusal(
            function,
            f"the function holds {len(ops)} ops in {len(blocks)} blocks",
            "write the Spec's op and a return",
        )
    goal = ops[0]
    memrefs = len(spec.tensors)
    if list(goal.operands) != list(blocks[0].arguments)[:memrefs]:
        raise _refusal(
            goal,
            f"'{goal.name}' does not take the arguments of its function in order",
            "give each operand its own argument",
        )
    options = option_forms(type(spec.kind))
    groups = [SEGMENTS] if spec.kind.is_variadic else []
    allowed = {*spec_attributes(spec), *options, *groups, ID_ATTRIBUTE}
    _check_attributes(goal, allowed)


def _check_sequence(sequence: ir.Operation) -> None:
    """Refuse ops that are neither actions nor hand handles on.

    Raises:
        ScheduleError: at the first of them.
    """
    for op, in_loop in _ops(sequence, False):
        if op.name not in _ALLOWED:
            raise _refusal(
                op,
                f"'{op.name}' is no op of a schedule",
                f"those are {', '.join(sorted(_ALLOWED))}",
            )
        if in_loop and op.name in (_FOREACH, _INCLUDE):
            raise _refusal(
                op,
                f"'{op.name}' inside of '{_FOREACH}'",
                "write out what is done with each Spec",
            )


def _ops(op: ir.Operation, in_loop: bool) -> Iterator[tuple[ir.Operation, bool]]:
    """The ops within an op, each with whether a loop over payloads is around it."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation, in_loop
                yield from _ops(
                    inner.operation, in_loop or inner.operation.name == _FOREACH
                )


def _check_length(module: ir.Module) -> None:
    """Refuse a schedule whose inclusions multiply beyond `MOST_STEPS`, or are deep.

    Raises:
        ScheduleError: at the sequence that is too long.
    """
    sequences = {
        ir.StringAttr(op.attributes["sym_name"]).value: op for op in _sequences(module)
    }
    steps: dict[str, int] = {}
    for name in sequences:
        _count_steps(name, sequences, steps, ())


def _count_steps(
    name: str,
    sequences: dict[str, ir.Operation],
    steps: dict[str, int],
    within: tuple[str, ...],
) -> int:
    """The steps of a run of a sequence, which are noted in ``steps``.

    A function of its own: one that is defined within another and calls itself keeps
    the module alive until Python collects its garbage.
    """
    sequence = sequences[name]
    if name in within:
        raise _refusal(sequence, f"the sequence @{name} includes itself")
    if len(within) > DEEPEST:
        raise _refusal(
            sequence, f"sequences include each other more than {DEEPEST} deep"
        )
    if name not in steps:
        total = 0
        for op, _ in _ops(sequence, False):
            total += 1
            callee = _callee(op)
            if callee in sequences:
                total += _count_steps(callee, sequences, steps, (*within, name))
        steps[name] = total
    if steps[name] > MOST_STEPS:
        raise _refusal(
            sequence,
            f"a run of the sequence @{name} takes {steps[name]:,} steps",
            f"write one of at most {MOST_STEPS:,}",
        )
    return steps[name]


def _callee(op: ir.Operation) -> str:
    """The name of the sequence that an op includes; empty if it includes none."""
    if op.name != _INCLUDE:
        return ""
    return str(ir.FlatSymbolRefAttr(op.attributes["target"]).value)


def _anew(function: ir.Operation, spec: Spec) -> ir.Module:
    """A module with the function of a Spec, at the place where the Spec is given."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    goals = spec_ops(function)
    with plain_location(goals[0].location if goals else function.location):
        return spec_function(spec, name)


def _renew(function: ir.Operation, spec: Spec) -> None:
    """Put in the place of a function one that is built from its Spec."""
    goal = spec_ops(function)[0]
    module = _anew(function, spec)
    renewed = function_of(module)
    new = spec_ops(renewed)[0]
    mark = attribute_of(goal, ID_ATTRIBUTE)
    if mark is not None:
        number = ir.IntegerType.get_signless(64)
        value = int_of(mark, f"'{ID_ATTRIBUTE}'")
        new.attributes[ID_ATTRIBUTE] = ir.IntegerAttr.get(number, value)
    renewed.move_before(function)
    function.erase()

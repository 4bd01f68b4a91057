"""From a Spec to LLVM IR, stage by stage, each as text.

`build_stages` is the entry point: the Spec as a module, its schedule (found by the
search or given), the loops and vectors that the schedule makes, and the LLVM IR.
"""

import dataclasses
import re
from collections.abc import Callable

from morello.aot.stages import Stages, name_module
from morello.compiler.schedule_reader import (
    function_of,
    message_of,
    place_text,
    read_schedule,
)
from morello.compiler.schedule_text import schedule_text
from morello.dialect import in_context
from morello.dialect.build import spec_function, spec_of
from morello.dialect.target import target_of
from morello.dialect.transform.price import price_of, target_in_context
from morello.errors import ScheduleError
from morello.machine import Target
from morello.mlir import ir
from morello.passes.base import PassFailure
from morello.passes.fill_schedule import fill_schedule
from morello.passes.pipelines.pipeline import Pipeline
from morello.passes.plan_memory import ATTRIBUTE as WORKSPACE
from morello.passes.synthesize import add_schedule
from morello.runtime.runtime_calls import check_calls
from morello.runtime.translate import lower_to_llvm_text
from morello.search import Impl, Solution
from morello.spec import Spec, print_spec

SCHEDULED = "builtin.module(morello-apply-schedule,morello-lower-kernels)"
"""From a module with a schedule to loops and vectors."""

PLANNED = "builtin.module(morello-plan-memory,morello-parallelize)"
"""From loops and vectors to a module that LLVM's dialect takes."""


Search = Callable[[Spec, Target, Target | None], Solution]
"""Finds the program of a Spec on a target, and in the context of a goal that it is a
part of, if it is."""


def build_stages(
    spec: Spec, target: Target, program: Solution | str, search: Search | None = None
) -> Stages:
    """Every stage from ``spec`` to LLVM IR.

    Args:
        program: the result of a search; or a module with the Spec and its schedule.
        search: finds programs of the Specs that a given schedule leaves; None to refuse
            a schedule that leaves any.

    Raises:
        ScheduleError: the given schedule cannot be read, is for another Spec, does not
            apply, or leaves a Spec that cannot be filled.
        CompileError: a stage cannot be lowered.
        SearchError: a Spec that the schedule leaves has no program.
    """
    filled: tuple[Solution, ...] = ()
    with in_context():
        if isinstance(program, str):
            text, solution = program, None
            module = read_schedule(text, spec)
            if search is not None:
                filled = _fill(module, search)
                text = schedule_text(module) if filled else program
        else:
            solution = program
            module = _program_module(spec, target, program.impl)
            text = schedule_text(module)
        name = function_name(spec, target)
        # A given module's own name may be that of a function that kernels call.
        function_of(module).attributes["sym_name"] = ir.StringAttr.get(name)
        whole = lowered(module, name, target, ((spec, solution),), text)
    return dataclasses.replace(whole, filled=filled)


def lowered(
    module: ir.Module,
    name: str,
    target: Target,
    parts: tuple[tuple[Spec, Solution | None], ...],
    schedule: str,
    inline: Callable[[ir.Operation, str], ir.Operation] | None = None,
    is_plain: bool = False,
) -> Stages:
    """The stages after the schedule of a module, in the current context.

    Args:
        module: the Specs, with their schedule; it is lowered in place.
        name: the function that is called.
        target: the machine.
        parts: each Spec, and its program.
        schedule: the text of the module.
        inline: puts the functions of the parts where they are called, and returns the
            function; None where the first is the only one.
        is_plain: whether upstream's plain lowering computes some ops.

    Raises:
        ScheduleError: it does not apply.
        CompileError: a stage cannot be lowered.
    """
    if parts:
        _run(SCHEDULED, module)
    function = inline(module.operation, name) if inline else function_of(module)
    _run(PLANNED, module)
    workspace = int(ir.IntegerAttr(function.attributes[WORKSPACE]).value)
    cost = price_of(function)
    if inline is not None:
        cost = sum(program.impl.cost for _, program in parts if program is not None)
    mlir = str(module)
    llvm = name_module(lower_to_llvm_text(module), name)
    check_calls(llvm, mathematics=is_plain)
    return Stages(name, target, parts, schedule, mlir, llvm, workspace, cost)


def program_schedule(spec: Spec, target: Target, impl: Impl) -> str:
    """A module with a Spec and a program of it as its schedule, as text."""
    with in_context():
        return schedule_text(_program_module(spec, target, impl))


def _program_module(spec: Spec, target: Target, impl: Impl) -> ir.Module:
    """Write a Spec with its program as a module, in the current context."""
    module = spec_module(spec, target)
    add_schedule(module.operation, lambda op: impl)
    return module


def spec_module(spec: Spec, target: Target) -> ir.Module:
    """A module with one function that holds the Spec, in the current context."""
    return spec_function(spec, function_name(spec, target), target)


def function_name(spec: Spec, target: Target) -> str:
    """The name of the function of a Spec: its text, as a name that C and C++ take."""
    text = print_spec(dataclasses.replace(spec, serial=True), target.limits)
    return re.sub("[^a-zA-Z0-9]+", "_", text).strip("_")


def _fill(module: ir.Module, search: Search) -> tuple[Solution, ...]:
    """Complete the schedule of a module; the programs that were found for it."""
    solutions: list[Solution] = []

    def program(op: ir.Operation) -> Impl:
        spec, target = spec_of(op), target_of(op)
        solutions.append(search(spec, target, target_in_context(op, spec, target)))
        return solutions[-1].impl

    try:
        fill_schedule(module.operation, program)
    except PassFailure as error:
        raise ScheduleError(f"{place_text(error.location)}: {error}") from error
    return tuple(solutions)


def _run(pipeline: str, module: ir.Module) -> None:
    try:
        Pipeline.parse(pipeline).run(module.operation)
    except ir.MLIRError as error:
        raise ScheduleError(message_of(error)) from error

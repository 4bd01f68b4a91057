"""The parts of a model, searched one by one and compiled as one function."""

from collections.abc import Callable, Sequence

from morello.aot.stages import Stages
from morello.compiler.driver import Driver
from morello.compiler.schedule_text import schedule_text
from morello.compiler.searches import part_of_time
from morello.compiler.stages import lowered
from morello.dialect import in_context
from morello.dialect.build import spec_of
from morello.errors import SearchError
from morello.frontends.grouping.beside import (
    Answer,
    Tell,
    go_on,
    search_beside,
    settled,
)
from morello.frontends.grouping.emission import inline_parts, model_module
from morello.frontends.grouping.groups import split
from morello.frontends.grouping.packing import Copies, Packed, opened, packed
from morello.frontends.grouping.parts import Part, PlainPart, Step
from morello.frontends.nodes.tensors import Tensors
from morello.machine import Target
from morello.passes.synthesize import add_schedule
from morello.search import Solution
from morello.spec import OpenSpec, Spec
from morello.spec.text.open_specs import print_open_spec

Progress = Callable[[str], None]
"""Told what is searched each time that a search begins: "2 of 9: matmul:…". Distinct
Specs are counted."""

Searched = tuple[Part, Spec, Solution]
"""A part, its Spec, and its program."""

Compiled = Searched | PlainPart
"""A step of a model: a part that was searched, or one that plain lowering computes."""


def searched_parts(
    tensors: Tensors,
    parts: Sequence[Step],
    driver: Driver,
    progress: Progress | None,
    pack: bool | None,
    answers: dict[OpenSpec, Answer],
    jobs: int,
) -> tuple[list[Compiled], list[Packed]]:
    """The best program of each part that is a Spec; one without becomes several.

    Args:
        tensors: gets packed weights.
        parts: in order.
        driver: searches them.
        progress: told of each.
        pack: as `Model.compile` takes it.
        answers: gets that of each goal.
        jobs: how many processes search.

    Returns:
        The programs, and the weights that are packed when they are known.

    Raises:
        SearchError: a part of one node has none.
    """
    searched = _searched(tensors, parts, driver, progress, pack, answers, jobs)
    go_on(dict.fromkeys(g for _, g in searched if g is not None), answers, driver)
    steps: list[Compiled] = []
    weights: list[Packed] = []
    copies: Copies = {}
    for part, wanted in searched:
        if isinstance(part, PlainPart):
            steps.append(part)
            continue
        assert wanted is not None
        program = answers[wanted].program
        assert program is not None
        part, panels = packed(tensors, part, program[0], wanted.open, copies)
        weights += panels
        steps.append((part, *program))
    return steps, weights


def _searched(
    tensors: Tensors,
    parts: Sequence[Step],
    driver: Driver,
    progress: Progress | None,
    pack: bool | None,
    answers: dict[OpenSpec, Answer],
    jobs: int,
) -> list[tuple[Step, OpenSpec | None]]:
    """The parts that have programs, each with its goal, whose answer is known."""
    machine, search = driver.target, driver.search
    searched: list[tuple[Step, OpenSpec | None]] = []

    def goal(part: Part) -> OpenSpec:
        return goal_of(part, tensors, parts, driver, pack)

    tell = _counted(progress, machine)
    rest = [(p, None if isinstance(p, PlainPart) else goal(p)) for p in parts]
    search.parts = len({wanted or part for part, wanted in rest})
    if jobs > 1:
        goals = {g: p.is_laid_out for p, g in rest if isinstance(p, Part) and g}
        answers.update(search_beside(goals, driver, jobs, tell))
    while rest:
        part, wanted = rest.pop(0)
        if isinstance(part, Part) and wanted is not None and _lacks(answers, wanted):
            later = {g for _, g in rest if g is not None} - {wanted, *answers}
            search.part = part_of_time(wanted.spec, (g.spec for g in later))
            number = len(answers) + (wanted not in answers)
            tell(wanted, number, number + len(later))
            try:
                program = settled(wanted, part.is_laid_out, machine, search)
                answers[wanted] = Answer(part.is_laid_out, program)
            except SearchError:
                answers[wanted] = Answer(part.is_laid_out, None)
                if part.ranges or len(part.nodes) == 1:
                    raise
                smaller = split(tensors, part)
                search.parts += len(smaller) - 1
                rest[:0] = [(p, goal(p)) for p in smaller]
                continue
        searched.append((part, wanted))
    return searched


def _lacks(answers: dict[OpenSpec, Answer], goal: OpenSpec) -> bool:
    """Whether no program of a goal is known."""
    return goal not in answers or answers[goal].program is None


def goal_of(
    part: Part,
    tensors: Tensors,
    parts: Sequence[Step],
    driver: Driver,
    pack: bool | None,
) -> OpenSpec:
    """The Spec of a part that the search is asked for.

    Args:
        parts: all that read weights.
        pack: as `Model.compile` takes it.
    """
    free = opened(tensors, tuple(parts), part, bool(pack)) if pack is not False else ()
    return driver.parallel(OpenSpec(part.spec(driver.target.limits), free))


def _counted(progress: Progress | None, machine: Target) -> Tell:
    """The function that tells a user of a goal."""

    def tell(goal: OpenSpec, number: int, total: int) -> None:
        if progress is not None:
            text = print_open_spec(goal, machine.limits)
            progress(f"{number} of {total}: {text}")

    return tell


def model_stages(
    tensors: Tensors, steps: Sequence[Compiled], machine: Target
) -> Stages:
    """The stages of one function of all parts.

    Raises:
        CompileError: it cannot be lowered.
    """
    parts = tuple(s[1:] for s in steps if not isinstance(s, PlainPart))
    impls = {spec: solution.impl for spec, solution in parts}
    name = _symbol(tensors.name)
    with in_context():
        pairs = [s if isinstance(s, PlainPart) else s[:2] for s in steps]
        module = model_module(tensors, pairs, name, machine)
        schedule = ""
        if parts:
            add_schedule(module.operation, lambda op: impls[spec_of(op)])
            schedule = schedule_text(module)
        is_plain = len(parts) < len(steps)
        return lowered(module, name, machine, parts, schedule, inline_parts, is_plain)


def _symbol(name: str) -> str:
    """A name that C takes."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return f"model_{plain}"

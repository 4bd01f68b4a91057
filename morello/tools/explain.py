"""``morello explain``: why a Spec's program is as it is, as text, HTML or JSON."""

import json
import math

from morello.compiler.hand_schedule import read_program
from morello.compiler.threads import thread_count
from morello.explain import (
    Explanation,
    as_data,
    as_page,
    as_text,
    explain,
)
from morello.explain import Request as Wanted
from morello.explain.words import Clock
from morello.machine import Target
from morello.search import Solver, best_settled
from morello.search.queries.best_program import parallel_goal, watch_of
from morello.search.queries.counting import count_programs
from morello.search.queries.partial_program import HOLE
from morello.spec import OpenSpec, Spec
from morello.tools.commands import ExplainOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.models import explain_model, is_model
from morello.tools.progress import progress
from morello.tools.request import Request


def main(options: ExplainOptions) -> int:
    """Run the command.

    Returns:
        0.

    Raises:
        MorelloError: an argument is refused; nothing is written.
    """
    if is_model(options.spec):
        return explain_model(options)
    if options.json and options.html == "-":
        raise UsageError(
            "--json and --html - both write to the standard output",
            "give --html a file",
        )
    if options.html is not None:
        check_output(options.html)
    request = Request.read(options.spec, options.target, options.schedule, options.db)
    threads = thread_count(options.threads, request.schedule)
    goal, target = _settled(request, threads)
    found = _explained(request, goal, target, _wanted(options))
    _check_nodes(options.at, found)
    programs = None
    if options.count:
        programs = count_and_note(request, goal, target)
    _write(options, found, programs)
    return 0


def _settled(request: Request, threads: int) -> tuple[Spec, Target]:
    """The Spec that is explained, with the layouts that the search chooses for open
    ones; and the target that prices it.

    Raises:
        UsageError: a layout is open, and a schedule is given.
        SearchError: no layouts have a program.
    """
    open_goal = request.goal
    goal, target = parallel_goal(open_goal.spec, request.target, threads)
    context = target.at(goal)
    if open_goal.is_settled:
        return goal, context
    if request.schedule is not None:
        raise UsageError(
            f"{request.text} leaves a layout open, but a given schedule is for one",
            "name the layout",
        )
    with request.working() as show:
        goal, _ = best_settled(
            OpenSpec(goal, open_goal.open),
            target,
            request.database(),
            request.patience(show),
        )
    return goal, context


def count_and_note(request: Request, goal: Spec, target: Target) -> float:
    """The binary logarithm of how many programs a goal has; the database notes it."""
    with progress(f"counting the programs of {request.text}"):
        programs = count_programs(goal, target)
    Solver(target, request.database()).note_programs(goal, programs)
    return programs


def _explained(
    request: Request, goal: Spec, target: Target, wanted: Wanted
) -> Explanation:
    with request.working() as show:
        given = HOLE
        if request.schedule is not None:
            given = read_program(request.schedule, goal, target)
        solver = Solver(target, request.database(), watch_of(request.patience(show)))
        return explain(goal, solver, wanted, given)


def _write(options: ExplainOptions, found: Explanation, programs: float | None) -> None:
    """Write the explanation.

    Args:
        programs: the binary logarithm of how many there are, if they were counted.
    """
    clock = Clock(options.ghz)
    count = "" if programs is None else f"{_COUNT}: {count_text(programs)}\n"
    if options.html is not None:
        write_output(options.html, as_page(found, clock, options.top, options.moves))
    if options.json:
        data = as_data(found, options.ghz, options.top)
        if programs is not None:
            data["programs_log10"] = programs * math.log10(2)
        write_output("-", json.dumps(data) + "\n")
    elif options.html is None:
        text = as_text(found, clock, options.top, options.moves)
        write_output("-", f"{text}\n{count}" if count else text)
    elif count and options.html != "-":
        write_output("-", count)


_COUNT = "programs in the space"


def count_text(binary_logarithm: float) -> str:
    """A number of programs: digit by digit up to a billion, else a power of ten."""
    power = binary_logarithm * math.log10(2)
    if power < 9:
        return f"{round(2**binary_logarithm):,}"
    if power < 1e6:
        return f"10^{power:,.1f}"
    return f"10^{power:,.0f}"


def _wanted(options: ExplainOptions) -> Wanted:
    depth = options.depth
    if depth is None and options.html is None:
        depth = 0
    return Wanted(depth, frozenset(options.at))


def _check_nodes(at: tuple[int, ...], found: Explanation) -> None:
    count = sum(1 for _ in found.root.walk())
    for number in at:
        if number >= count:
            raise UsageError(
                f"argument --at: the program has no node {number}",
                f"its nodes are 0 to {count - 1}",
            )

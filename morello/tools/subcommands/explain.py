"""``morello explain``: why a Spec's program is as it is, as text, HTML or JSON."""

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any

from morello.compiler.candidates import Candidate, find_candidates
from morello.compiler.hand_schedule import read_program
from morello.compiler.threads import thread_count
from morello.compiler.tuning.placing import Placements
from morello.compiler.tuning.timing import pinned, sample
from morello.compiler.tuning.trial import Trial
from morello.explain import (
    Explanation,
    Unfused,
    as_data,
    as_page,
    as_text,
    explain,
    unfused,
)
from morello.explain import Request as Wanted
from morello.explain.cover import cover_text, proof_text
from morello.explain.words import Clock
from morello.machine import Target
from morello.search import Solver, best_program, best_settled
from morello.search.dp.solver import pins_of
from morello.search.queries.best_program import parallel_goal, watch_of
from morello.search.queries.counting import count_programs
from morello.search.queries.measured import (
    Measured,
    find_measured,
    measured_key,
    program_of,
)
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.ranges.cover import CoverOptions, cover
from morello.search.ranges.sizes import Call
from morello.search.storage.overlay import NONE, default_path, open_database
from morello.search.storage.shelf import SHELF
from morello.spec import OpenSpec, Spec
from morello.tools.commands import ExplainOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.measured_text import measured_data, measured_lines, measured_summary
from morello.tools.model_files import is_model
from morello.tools.progress import progress
from morello.tools.request import Request, tool_target
from morello.tools.table import time_text


def main(options: ExplainOptions) -> int:
    """Run the command.

    Raises:
        MorelloError: an argument is refused; nothing is written.
    """
    if is_model(options):
        return _explain_model(options)
    if options.partition != "rule":
        raise UsageError(
            f"--partition {options.partition} is for models, and {options.spec} is a "
            "Spec",
            "leave it out",
        )
    if options.json and options.html == "-":
        raise UsageError(
            "--json and --html - both write to the standard output",
            "give --html a file",
        )
    if options.html is not None:
        check_output(options.html)
    request = Request.read(options.spec, options.target, options.schedule, options.db)
    if request.goal.spec.ranges:
        _explain_cover(options, request)
        return 0
    _write(options, *_explained(options, request))
    return 0


def _explain_cover(options: ExplainOptions, request: Request) -> None:
    """The programs of every size of a range.

    Raises:
        UsageError: a flag is for settled sizes.
        SearchError: a size has no program.
    """
    settled = options.html, options.json, options.count, options.at, options.schedule
    if any(settled) or options.candidates or options.unfused or options.seconds:
        raise UsageError(
            "--html, --json, --count, --at, --candidates, --unfused, --seconds and "
            f"--schedule explain settled sizes, and {request.text} has a range",
            "give one of its sizes",
        )
    threads = thread_count(options.threads)
    spec, target = parallel_goal(request.spec, request.target, threads)
    with request.working() as show:
        watch = watch_of(request.patience(show))
        sizes_cover = cover(spec, target, options.regret, watch)
        step = max(1, len(sizes_cover.least) // max(1, options.prove))
        some = list(sizes_cover.least)[step // 2 :: step][: options.prove]
        alone = {call: _alone(spec, call, target) for call in some}
    text = cover_text(sizes_cover, target, Clock(options.ghz))
    if alone:
        text += proof_text(sizes_cover, alone)
    pins = pins_of(request.database(), target)
    key = measured_key(spec, target, pins, CoverOptions(options.regret))
    measured = find_measured(key, request.database())
    if measured is not None and not options.untuned:
        text += "\n".join(
            ("", *measured_lines(measured), measured_summary(measured), "")
        )
    write_output("-", text)


def _alone(spec: Spec, call: Call, target: Target) -> int:
    """The cost of the best program of one size of each range, searched by itself."""
    goal = spec.point(*call)
    solver = Solver(target.at(goal, spec), shelf=SHELF)
    return best_program(goal, target, solver=solver).impl.cost


def _explain_model(options: ExplainOptions) -> int:
    """The parts of a model, then the program of each.

    Raises:
        MorelloError: ops without a Spec; ``--html``, ``--json``, ``--count`` or
            ``--at``, which are for one Spec.
    """
    # Programs of MLIR need much that Specs do not.
    from morello.tools.model_subject import (
        part_requests,
        parts_summary,
        read_model,
        tilings_summary,
    )

    if options.html is not None or options.json or options.count or options.at:
        raise UsageError(
            "--html, --json, --count and --at explain one Spec",
            "give the Spec of a part, as the list of 'morello explain' has it",
        )
    model = read_model(options.spec, options.fallback, options.schedule, options.shape)
    target = tool_target(options.target)
    with progress(f"choosing the parts of {options.spec}"):
        model, joins = model.partitioned(
            options.partition,
            winograd=options.winograd,
            target=target,
            threads=options.threads,
            db=open_database(options.db, default=default_path) or NONE,
        )
    texts, costs, times = [], [], []
    for number, request in enumerate(part_requests(model, options.target, options.db)):
        explained = _explained(options, request)
        costs.append(explained[0].cost)
        times.append(explained[2].seconds)
        texts.append(f"\npart {number}: {request.text}\n")
        texts.append(_text(options, *explained))
    clock = Clock(options.ghz)
    summary = parts_summary(joins, costs, times, clock)
    tilings = tilings_summary(model, clock)
    write_output("-", "".join([f"{model}\n", *tilings, *summary, *texts]))
    return 0


def _explained(
    options: ExplainOptions, request: Request
) -> tuple[Explanation, Unfused | None, "_More"]:
    """The program of a Spec, the same without fusion, and what more was asked for."""
    threads = thread_count(options.threads, request.schedule)
    goal, machine, target = _settled(request, threads)
    with request.working() as show:
        solver = Solver(target, request.database(), watch_of(request.patience(show)))
        measured = None
        if request.schedule is None and not options.untuned:
            key = measured_key(goal, machine, solver.pinned.pins)
            measured = find_measured(key, request.database())
        decided = _decided(request, goal, target, measured)
        explanation = explain(goal, solver, _wanted(options), decided)
        listed: tuple[Candidate, ...] = ()
        if options.candidates:
            listed = find_candidates(goal, machine, solver, options.candidates)
        apart = None
        if options.unfused:
            patience = request.patience(show)
            apart = unfused(
                goal,
                lambda part: (
                    best_program(part, machine, request.database(), patience).impl
                ),
            )
            if apart is None:
                raise UsageError(
                    f"argument --unfused: {request.text} is one node, or has nodes "
                    "that are nothing by themselves",
                    "leave --unfused out",
                )
    _check_nodes(options.at, explanation)
    programs = None
    if options.count:
        programs = count_and_note(request, goal, target)
    timed = None if options.seconds is None else _timed(options, request, threads)
    return explanation, apart, _More(measured, listed, programs, timed)


def _timed(options: ExplainOptions, request: Request, threads: int) -> float:
    """Seconds of a call of a program, the best of the samples.

    Raises:
        MorelloError: there is no memory for its operands.
    """
    trial = Trial.make(request.goal.spec, 0, {})
    kernel = request.compile(threads, tune=False if options.untuned else None)
    call = Placements(trial.settled(kernel.spec)).calls(kernel)[0]
    with progress(f"timing {request.text}"), pinned(kernel.threads == 1):
        return sample(call, (), lambda: None, options.seconds or 0.0).best


@dataclasses.dataclass(frozen=True)
class _More:
    """Parts that are printed in addition to the explanation."""

    measured: Measured | None
    candidates: tuple[Candidate, ...]
    programs: float | None
    """The binary logarithm of how many there are, if they were counted."""
    timed: float | None
    """Seconds of a call of the program, if it was timed."""

    @property
    def seconds(self) -> float | None:
        """Seconds of a call of the program: now, or when it was chosen by its time."""
        if self.timed is None and self.measured is not None:
            return self.measured.chosen.seconds
        return self.timed

    def data(self) -> dict[str, Any]:
        """Convert these parts to JSON values."""
        values: dict[str, Any] = {}
        if self.measured is not None:
            values["measured"] = measured_data(self.measured)
        if self.candidates:
            values["candidates"] = [
                {"cost": one.cost, "class": list(one.features)}
                for one in self.candidates
            ]
        if self.programs is not None:
            values["programs_log10"] = self.programs * math.log10(2)
        if self.timed is not None:
            values["timed"] = self.timed
        return values

    def parts(self, clock: Clock) -> Iterator[str]:
        """Print these parts as text."""
        if self.measured is not None:
            yield measured_summary(self.measured)
        if self.candidates:
            yield "\n".join(self._candidates(clock))
        if self.programs is not None:
            yield f"programs in the space: {count_text(self.programs)}"
        if self.timed is not None:
            yield f"timed: {time_text(self.timed)} a call"

    def _candidates(self, clock: Clock) -> Iterator[str]:
        yield "the cheapest program of each class, by predicted cost:"
        times = {}
        if self.measured is not None:
            times = {row.features: row.seconds for row in self.measured.rows}
        for one in self.candidates:
            more = one.cost / self.candidates[0].cost - 1
            seconds = times.get(one.class_text)
            took = "" if seconds is None else f"  (measured: {time_text(seconds)})"
            yield f"  {more:>+7.1%}  {clock.cost(one.cost)}  {one.class_text}{took}"


def _decided(
    request: Request, goal: Spec, target: Target, measured: Measured | None
) -> Partial:
    """Decisions that are fixed before the search: a schedule, or a measured choice."""
    if request.schedule is not None:
        return read_program(request.schedule, goal, target)
    if measured is None or measured.chosen is measured.model:
        return HOLE
    return Partial.of(program_of(measured.chosen, goal, target))


def _settled(request: Request, threads: int) -> tuple[Spec, Target, Target]:
    """The Spec that is explained, with the layouts that the search chooses for open
    ones; the target, and the same as the Spec sees it, which prices it.

    Raises:
        UsageError: a layout is open, and a schedule is given.
        SearchError: no layouts have a program.
    """
    open_goal = request.goal
    goal, target = parallel_goal(open_goal.spec, request.target, threads)
    context = target.at(goal)
    if open_goal.is_settled:
        return goal, target, context
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
    return goal, target, context


def count_and_note(request: Request, goal: Spec, target: Target) -> float:
    """The binary logarithm of how many programs a goal has; the database notes it."""
    with progress(f"counting the programs of {request.text}"):
        programs = count_programs(goal, target)
    Solver(target, request.database()).note_programs(goal, programs)
    return programs


def _write(
    options: ExplainOptions,
    explanation: Explanation,
    apart: Unfused | None,
    more: _More,
) -> None:
    clock = Clock(options.ghz)
    if options.html is not None:
        write_output(
            options.html, as_page(explanation, clock, options.top, options.moves, apart)
        )
    if options.json:
        data = as_data(explanation, options.ghz, options.top, apart)
        write_output("-", json.dumps({**data, **more.data()}) + "\n")
    elif options.html is None:
        write_output("-", _text(options, explanation, apart, more))
    elif options.html != "-" and (parts := list(more.parts(clock))):
        write_output("-", "\n\n".join(parts) + "\n")


def _text(
    options: ExplainOptions,
    explanation: Explanation,
    apart: Unfused | None,
    more: _More,
) -> str:
    """An explanation for a person."""
    clock = Clock(options.ghz)
    text = as_text(explanation, clock, options.top, options.moves, apart)
    return "\n".join((text, *(f"{part}\n" for part in more.parts(clock))))


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


def _check_nodes(at: tuple[int, ...], explanation: Explanation) -> None:
    count = sum(1 for _ in explanation.root.walk())
    for number in at:
        if number >= count:
            raise UsageError(
                f"argument --at: the program has no node {number}",
                f"its nodes are 0 to {count - 1}",
            )

"""Programs of Specs, compiled, checked and timed, into a data set: `collect`.

Of each Spec there are the cheapest programs of different classes, as tuning tries them,
and programs from all over the space: other tiles, other orders of loops, good ones and
bad ones. All are timed in turns, on several placements of the operands, equally often.
"""

import dataclasses
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.training.data_set import Entry, Timed, append, entries
from benchmarks.training.distinct import Distinct
from morello.calibration.sample import Sampler, code_of, spread
from morello.calibration.turns import shared, turn
from morello.compiler.candidates import Candidate, find_candidates
from morello.compiler.kernel import Kernel
from morello.compiler.tuning.checking import checked_kernels
from morello.compiler.tuning.entry import Entry as Turn
from morello.compiler.tuning.placing import Placements
from morello.compiler.tuning.timing import no_collection, pinned
from morello.compiler.tuning.trial import Trial
from morello.errors import MorelloError
from morello.learned.features import is_fused
from morello.machine import Target
from morello.machine.host import processor_name
from morello.runtime import clock
from morello.search import Impl, Solver
from morello.search.queries.partial_program import Partial
from morello.search.queries.program_class import class_of
from morello.spec import Spec

_FAR = 4.0
"""How many times the cost of the best a program may have that is drawn."""

_POOL = 8
"""How many times as many programs are found as are drawn, at most."""

_SLOW = _FAR
"""Programs that take so many times as long as the best are not sampled any more."""

_PLACEMENTS = 3
"""Placements of the operands, at most."""

_CHANCES = 4
"""Rounds after which that is decided: something else may have had the core before."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is timed of each Spec.

    Args:
        classes: programs of different classes, at most.
        drawn: others, at most.
        seconds: that each program is timed, about.
        mebibytes: no Spec is begun when the file is as large.
        seed: of what is drawn.
        lock: a file that is locked while programs are timed; they are then timed before
            all else that runs, where the system allows that.
    """

    classes: int = 16
    drawn: int = 16
    seconds: float = 0.1
    mebibytes: float = 64.0
    seed: int = 0
    lock: Path | None = None


def collect(
    specs: Mapping[str, Spec],
    target: Target,
    path: Path,
    plan: Plan,
    show: Callable[[str], None],
) -> Iterator[Entry]:
    """Time programs of the Specs that a file does not have, and add them.

    Args:
        specs: by their text.
        show: is told what is done, and which Specs have no kernel.

    Raises:
        MorelloError: the file is no data set.
        OSError: it cannot be written, or the lock cannot be taken.
    """
    here = {
        entry.spec
        for entry in entries(path)
        if (entry.target, entry.cpu) == (target.name, processor_name())
    }
    for number, (text, spec) in enumerate(specs.items(), 1):
        if text in here:
            continue
        if path.exists() and path.stat().st_size >= plan.mebibytes * 2**20:
            show(f"the file has {plan.mebibytes:g} MiB: nothing more is timed")
            return
        show(f"{number} of {len(specs)}: {text}")
        try:
            timed = _timed(text, spec, target, plan)
        except MorelloError as error:
            show(f"{text} is left out: {error}")
            continue
        append(path, timed)
        yield timed


def _timed(text: str, spec: Spec, target: Target, plan: Plan) -> Entry:
    with shared(plan.lock):
        solver = Solver(target.at(spec))
        solver.solve(spec)
        impls = list(find_candidates(spec, target, solver, plan.classes))
        impls += _others(spec, target, solver, plan, impls)
        trial = Trial.make(spec, plan.seed, {})
        kernels, _ = checked_kernels(impls, trial)
    with turn(plan.lock):
        turns, cycle = _turns([one.kernel for one in kernels], trial, plan.seconds)
    programs = tuple(
        Timed(str(Partial.of(one.candidate.impl)), one.candidate.features, took.seconds)
        for one, took in zip(kernels, turns, strict=True)
    )
    return Entry(text, target.name, processor_name(), cycle, programs)


def _others(
    spec: Spec, target: Target, solver: Solver, plan: Plan, known: Sequence[Candidate]
) -> Iterator[Candidate]:
    """Programs that are others than those that are known (`Distinct`): of a graph both
    the best that is cut in parts at once, and the best that is tiled first; and drawn
    ones, some of them nearly optimal, the others at even steps of the logarithm of
    their cost."""
    rng = random.Random(f"{plan.seed} {spec}")
    sampler = Sampler(spec, target, rng, solver)
    codes = {code_of(one.impl) for one in known}
    distinct = Distinct()
    for one in known:
        distinct.is_new(one.impl, one.features)

    def is_new(impl: Impl) -> bool:
        code = code_of(impl)
        if code in codes:
            return False
        codes.add(code)
        return distinct.is_new(impl, tuple(class_of(impl, target.at(spec))))

    impls = []
    impls += [impl for impl in both_ways(sampler) if is_new(impl)]
    if plan.drawn:
        pool = [
            impl
            for impl in sampler.programs(_POOL * plan.drawn)
            if impl.cost <= _FAR * known[0].cost and is_new(impl)
        ]
        impls += spread(pool, [impl.cost for impl in pool], plan.drawn)
    for impl in impls:
        features = sorted(class_of(impl, target.at(spec)))
        yield Candidate(spec, target, impl, tuple(features))


def both_ways(sampler: Sampler) -> list[Impl]:
    """Find the cheapest unfused and the cheapest fused program of a graph; fewer if
    there are no such programs."""
    ways = (
        sampler.cheapest(lambda impl: is_fused(impl) is False),
        sampler.cheapest(lambda impl: is_fused(impl) is True),
    )
    return [impl for impl in ways if impl is not None]


def _turns(
    kernels: Sequence[Kernel], trial: Trial, seconds: float
) -> tuple[list[Turn], float]:
    """The kernels with their samples, and the seconds of a cycle."""
    placements = Placements(trial)
    turns = [Turn(placements.calls(kernel)[:_PLACEMENTS]) for kernel in kernels]
    with pinned(True), no_collection():
        cycle = clock.cycle()
        in_turns(turns, seconds)
    return turns, (cycle + clock.cycle()) / 2


def in_turns(turns: Sequence[Turn], seconds: float) -> None:
    """Sample all on every placement, and again, for so many seconds each; a few times
    at least, after which what is far slower than the best is left out."""
    end = time.perf_counter() + seconds * len(turns)
    left = list(turns)
    for rounds in itertools.count(1):
        for placement in range(len(turns[0].calls)):
            first = rounds % len(left)  # finds the caches as another placement does
            for one in (*left[first:], *left[:first]):
                one.sample(placement)
        if rounds < _CHANCES:
            continue
        best = min(one.seconds for one in left)
        left = [one for one in left if one.seconds < _SLOW * best]
        if time.perf_counter() >= end:
            break

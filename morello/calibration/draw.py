"""Programs of Specs, drawn and timed, by several processes if wanted: `in_turns`."""

import contextlib
import dataclasses
import math
import random
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path

from morello.calibration.reprice import Ledger
from morello.calibration.sample import Sampler, code_of, perturbed, spread
from morello.calibration.timing import Stopwatch
from morello.calibration.turns import cycles_of_all, shared
from morello.errors import MorelloError
from morello.machine import Target
from morello.processes.pool import work_off
from morello.search import Impl
from morello.spec import Spec, print_spec

NEAR = 3
"""Programs of a Spec that a later round draws: the choice, and others near it."""

ANCHORS = 2
"""Programs that are timed once more beside those of a later round: the fastest. What
the machine does differently by then shows in them, and is taken out of the others."""

Known = Mapping[Spec, Mapping[str, tuple[Impl, float]]]
"""Programs that are timed already, by their text, with the cycles of a call."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is measured.

    Args:
        programs: of each Spec, at first.
        seconds: how long each is timed, beside a few samples that are always taken.
        seed: of what is drawn.
        lock: a file that is locked while programs are timed.
        rounds: how often choices are added to the sample, at most.
        jobs: how many processes search and compile.
        pool: how many times as many programs are drawn as are measured: the more, the
            more evenly they are spread over the costs that programs have.
    """

    programs: int = 20
    seconds: float = 0.05
    seed: int = 0
    lock: Path | None = None
    rounds: int = 6
    jobs: int = 1
    pool: int = 2


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Programs that were drawn for a Spec, with their times.

    Args:
        choice: the text of the search's choice.
        times: programs that were not known, and the cycles of a call.
    """

    spec: Spec
    choice: str
    times: tuple[tuple[Impl, float], ...]


@dataclasses.dataclass(frozen=True)
class _Task:
    """Work of a process for one Spec."""

    spec: Spec
    target: Target
    plan: Plan
    known: Mapping[str, tuple[Impl, float]]
    later: bool
    """Whether to time what the search chooses now, and not a sample of programs."""


def in_turns(
    specs: Sequence[Spec],
    target: Target,
    plan: Plan,
    known: Known | None,
    show: Callable[[str], None],
) -> Iterator[Drawn]:
    """Draw programs of each Spec and time them, in the order of the Specs.

    Args:
        known: what needs no time; None for the first round, which draws a sample.

    Raises:
        MorelloError: a Spec has no program, or it cannot be run; or a process ended.
    """
    later = known is not None
    tasks = [_Task(s, target, plan, (known or {}).get(s, {}), later) for s in specs]
    what = "choices of" if later else "a sample of"
    if plan.jobs == 1:
        for task in tasks:
            show(f"{what} {print_spec(task.spec, target.limits)}")
            yield _drawn(task)
        return
    with tempfile.TemporaryDirectory() as folder:
        turns = dataclasses.replace(plan, lock=plan.lock or Path(folder) / "lock")
        tasks = [dataclasses.replace(task, plan=turns) for task in tasks]
        jobs = enumerate(dataclasses.replace(task, plan=turns) for task in tasks)
        done: dict[int, Drawn | MorelloError] = {}
        running = work_off(lambda _: next(jobs, None), _drawn_or_refused, plan.jobs)
        with contextlib.closing(running) as results:
            for number, spec in enumerate(specs):
                text = print_spec(spec, target.limits)
                show(f"{what} {text}")
                while number not in done:
                    ended = next(results)
                    if ended.result is None:
                        raise MorelloError(
                            f"{text} or a Spec after it was not measured: "
                            f"{ended.death}",
                            "give fewer --jobs",
                        )
                    done[ended.job[0]] = ended.result
                drawn = done.pop(number)
                if isinstance(drawn, MorelloError):
                    raise drawn
                yield drawn


def draw(spec: Spec, target: Target, plan: Plan) -> tuple[Impl, ...]:
    """Programs of a Spec: three quarters by the target's costs, others by wrong ones.

    The costs of the others are perturbed, and they are searched without relayouts, so
    that this takes a second: such programs spend on other things than the best does.
    The cheapest one of another kernel is among them, as strips are against panels.
    Of those that become the same code only the cheapest counts: its price is that of
    the code.

    Returns:
        the search's choice, then others.
    """
    rng = random.Random(f"{plan.seed} {spec}")
    many = plan.pool * plan.programs
    few = many // 4
    sampler = Sampler(spec, target, rng)
    pool = {str(impl): impl for impl in sampler.programs(many - few)}
    pool.update((str(impl), impl) for impl in sampler.rivals())
    if few:
        other = perturbed(dataclasses.replace(target, relayouts=False), rng)
        for impl in Sampler(spec, other, rng).programs(few):
            pool.setdefault(str(impl), impl)
    impls = tuple(pool.values())
    costs = Ledger(impls, target).costs(target).tolist()
    cheapest: dict[Hashable, tuple[float, Impl]] = {}
    for cost, impl in zip(costs, impls, strict=True):
        code = code_of(impl)
        if code not in cheapest or cost < cheapest[code][0]:
            cheapest[code] = cost, impl
    costs, impls = zip(*cheapest.values(), strict=True)
    return tuple(spread(impls, costs, plan.programs))


def _drawn_or_refused(job: tuple[int, _Task]) -> Drawn | MorelloError:
    """Result of a task in a process: its programs, or the error."""
    try:
        return _drawn(job[1])
    except MorelloError as error:
        return error


def _drawn(task: _Task) -> Drawn:
    """Draw programs of a task, compile them, and time them."""
    plan, spec, target = task.plan, task.spec, task.target
    with shared(plan.lock):
        if task.later:
            rng = random.Random(f"{plan.seed} {spec} {target}")
            impls = Sampler(spec, target, rng).programs(NEAR)
        else:
            impls = draw(spec, target, plan)
    new = [impl for impl in impls if str(impl) not in task.known]
    anchors = sorted(task.known.values(), key=lambda known: known[1])[:ANCHORS]
    if not new:
        return Drawn(spec, str(impls[0]), ())
    timed = [*(impl for impl, _ in anchors), *new]
    watch = Stopwatch(plan.seconds)
    cycles = cycles_of_all(spec, timed, target, watch, plan.lock)
    now, times = cycles[: len(anchors)], cycles[len(anchors) :]
    then = [known for _, known in anchors]
    scale = math.prod(t / n for t, n in zip(then, now, strict=True))
    scale **= 1 / max(1, len(anchors))
    scaled = (scale * cycles for cycles in times)
    return Drawn(spec, str(impls[0]), tuple(zip(new, scaled, strict=True)))

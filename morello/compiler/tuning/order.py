"""The order in which candidates are tried, and a choice without a stopwatch."""

from collections.abc import Sequence

from morello.compiler.candidates import Candidate, find_candidates
from morello.errors import CompileError
from morello.learned.features import is_fused
from morello.learned.model import find_model, shipped_models
from morello.machine import Target
from morello.search import Solution, Solver
from morello.spec import Spec

CANDIDATES = 24
"""Classes that a choice is made among."""

_MARGIN = 1.02
"""By how much the choice of the cost model must be beaten, as predicted."""


def tried_order(candidates: Sequence[Candidate], target: Target) -> list[Candidate]:
    """Candidates of one goal as they are tried: the choice of the cost model, then
    those that the learned model predicts to be fast; without one, by novelty."""
    model = find_model(target) if candidates else None
    if model is None:
        return by_novelty(candidates)
    times = model.predict([one.impl for one in candidates], target)
    rest = sorted(range(1, len(candidates)), key=lambda place: times[place])
    return [candidates[place] for place in (0, *rest)]


def by_novelty(candidates: Sequence[Candidate]) -> list[Candidate]:
    """First those with a kernel or a copy that none before them has, then the others;
    the cheaper before the dearer."""
    seen: set[str] = set()
    new: list[Candidate] = []
    rest: list[Candidate] = []
    for candidate in candidates:
        is_new = not new or not seen.issuperset(candidate.features)
        (new if is_new else rest).append(candidate)
        seen.update(candidate.features)
    return new + rest


def learned_solution(goal: Spec, target: Target, solver: Solver) -> Solution:
    """The program that the learned model predicts to be the fastest of different
    classes; the choice of the cost model unless another one is clearly faster. Whether
    the parts of a graph take turns stays as it is there, unless the learned model
    decides it (`LearnedModel.decides_fusion`).

    Args:
        goal: what is searched for.
        target: as it is chosen.
        solver: for the target as the goal sees it.

    Raises:
        CompileError: there is no learned model for the target.
        SearchError: the goal has no program.
    """
    model = find_model(target)
    if model is None:
        threads = f" with {target.threads} threads" if target.threads > 1 else ""
        raise CompileError(
            f"there is no learned model for {target.name}{threads}",
            f"there are some for one thread: {', '.join(shipped_models()) or 'none'}; "
            "or give tune=True, which measures",
        )
    solution = solver.solve(goal)
    candidates = find_candidates(goal, target, solver, CANDIDATES)
    times = model.predict([one.impl for one in candidates], target)
    fusion = [is_fused(one.impl) for one in candidates]
    best = min(
        (i for i, one in enumerate(fusion) if model.decides_fusion or one == fusion[0]),
        key=lambda place: times[place],
    )
    if times[best] * _MARGIN > times[0]:
        return solution
    return Solution(candidates[best].impl, solution.statistics)

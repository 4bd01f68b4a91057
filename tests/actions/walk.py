"""A uniform walk over legal actions: Specs deep in programs, and what acts on them."""

import random

from morello.actions import ACTIONS, Action, Rewrite
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import Spec
from tests.search.axes_of import axes_of
from tests.search.goals import KINDS, PEELS, random_goal


def candidates(spec: Spec) -> list[Action]:
    """What the search would try on a Spec."""
    axes = axes_of(spec)
    return [a for kind in ACTIONS for a in kind.candidates(spec.key, axes, PEELS)]


def applied(action: Action, spec: Spec) -> Rewrite | None:
    """The rewrite; None if the action does not apply."""
    try:
        return action.apply(spec, AVX2)
    except ScheduleError:
        return None


def random_rewrite(rng: random.Random) -> tuple[Spec, Action, Rewrite]:
    """An action on a random Spec, or on one some actions below it."""
    steps: list[tuple[Spec, Action, Rewrite]] = []
    spec = random_goal(rng, rng.choice(KINDS))
    for _ in range(rng.randint(1, 5)):
        legal = [(a, r) for a in candidates(spec) if (r := applied(a, spec))]
        if not legal:
            break
        action, rewrite = rng.choice(legal)
        steps.append((spec, action, rewrite))
        if not rewrite.holes:
            break
        spec = rng.choice(rewrite.holes).spec
    return steps[-1] if steps else random_rewrite(rng)

"""Random Specs and random actions on them."""

import dataclasses
import random

from morello.actions import ACTIONS, Action, Move, Peel, Rewrite, Split, Tile
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import (
    L1,
    L2,
    MEM,
    Dtype,
    Layout,
    Limits,
    Operand,
    Spec,
    TensorSpec,
    argument_tensor,
)
from morello.spec.kinds import instances
from tests.search.goals import PEELS, layouts, random_dtypes

LAYOUTS = {
    1: ("[0]", "[0,0p4]"),
    2: ("[0,1]", "[1,0]", "[1,0,1p4]", "[0,1,0p6]", "[0,1,1oe8]"),
    3: ("[0,1,2]", "[0,2,1]", "[0,2,1,2p16]", "[0,1,2,1p6]", "[2,0,1]", "[0,1,2,2oe4]"),
}
"""By rank."""

KINDS = tuple(kind for kind in instances() if len(kind.dims) > 1)
"""Kinds of one dimension have few actions."""

SIZES = (1, 1, 2, 3, 4, 6, 8, 9, 12, 16, 17, 20, 24, 32, 35)


def random_spec(rng: random.Random) -> Spec:
    """A Spec of any kind, in MEM or caches."""
    kind = rng.choice(KINDS)
    dtypes = random_dtypes(rng, kind)
    tensors = tuple(
        random_form(rng, dtype, o)
        for o, dtype in zip(kind.operands, dtypes, strict=True)
    )
    sizes = tuple(rng.choice(SIZES) for _ in kind.dims)
    limits = rng.choice(
        (AVX2.limits, Limits.of(vrf=16, l1=64, l2=1024), Limits.of(vrf=4, l1=512, l2=0))
    )
    return Spec(kind, sizes, tensors, limits)


def random_form(rng: random.Random, dtype: Dtype, operand: Operand) -> TensorSpec:
    """A form in MEM or a cache; of gapless arrays, so that a function can take it."""
    layout = rng.choice(layouts(operand, LAYOUTS))
    level = rng.choice((MEM, L2, L1, L1))
    whole = argument_tensor(dtype, layout)
    contiguous = whole.contiguous and rng.random() < 0.7
    return dataclasses.replace(whole, level=level, contiguous=contiguous)


def legal_actions(spec: Spec, rng: random.Random) -> list[tuple[Action, Rewrite]]:
    """Some actions that apply to a Spec, of every class that has one."""
    axes = tuple(tuple(sorted({1, 2, 3, 4, 6, 8, 16, 24, s})) for s in spec.sizes)
    tried: list[Action] = []
    for action_class in ACTIONS:
        actions = list(action_class.candidates(spec.key, axes, PEELS))
        tried += rng.sample(actions, min(8, len(actions)))
    for dim, size in zip(spec.kind.dims, spec.sizes, strict=True):
        tried += [kind(dim, rng.randint(1, size)) for kind in (Tile, Split, Peel)]
    for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True):
        layout = Layout.parse(rng.choice(LAYOUTS[tensor.rank]))
        tried.append(Move(operand.name, rng.choice((L2, L1)), layout))
    return [(a, r) for a in tried if (r := applied(a, spec)) is not None]


def applied(action: Action, spec: Spec) -> Rewrite | None:
    """The rewrite, or None where the action does not apply."""
    try:
        return action.apply(spec, AVX2.at(spec))
    except ScheduleError:
        return None


def random_action(spec: Spec, rng: random.Random) -> tuple[Action, Rewrite] | None:
    """An action that applies, each class as likely as the others; None if none."""
    legal = legal_actions(spec, rng)
    if not legal:
        return None
    chosen = rng.choice(sorted({type(a).name for a, _ in legal}))
    return rng.choice([pair for pair in legal if type(pair[0]).name == chosen])

"""Summaries of a model's steps: the number of parts, and the ops without a Spec."""

from collections.abc import Iterable

from morello.frontends.grouping.parts import PlainPart
from morello.frontends.refusals import Refusal

_REMEDY = "upstream's plain lowering computes it"


def fallback_of(steps: Iterable[object]) -> tuple[Refusal, ...]:
    """The ops that are left to plain lowering."""
    codes = [step.code for step in steps if isinstance(step, PlainPart)]
    return tuple(Refusal(c.op, c.place, c.reason, _REMEDY) for c in codes)


def counted(steps: tuple[object, ...]) -> str:
    """How many parts there are, and how many are left to plain lowering."""
    plain = len(fallback_of(steps))
    count = len(steps) - plain
    text = f"{count} part{'' if count == 1 else 's'}"
    if plain:
        text += f", {plain} op{'' if plain == 1 else 's'} by plain lowering"
    return text

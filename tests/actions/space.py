"""What each action does on many Specs at once, as a table of checksums.

A line of `space.tsv` has a target, a Spec, and a checksum for each action that the
search may try on it: of the actions, in order, and where they apply, their costs and
holes at many sizes and limits. The Specs are the file's own: together they reach all
branches of actions. `python -m tests.actions.space` writes their checksums anew;
`python -m tests.actions.space LINE` shows what is behind those of a line, to compare.
"""

import dataclasses
import random
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from morello.actions import ACTIONS, Action, Child, Select, candidates
from morello.machine import AVX2, Target, find_target
from morello.machine.operand_context import OperandContext
from morello.search.dp.axes import goal_axes
from morello.spec import L1, L2, VRF, Limits, Spec, SpecKey, parse_spec, print_spec
from morello.spec.frame import Frame
from tests.actions.by_hand import by_hand
from tests.actions.listing import ALIASED, NEAR, PEELS, TEAM

FILE = Path(__file__).with_name("space.tsv")

POINTS = 24
"""Places of a frame."""

TARGETS: dict[str, Target] = {
    "peels": PEELS,
    "near": NEAR,
    "aliased": ALIASED,
    "team": dataclasses.replace(TEAM, first_part=1),
    "wide": find_target("avx512-vnni-bf16"),
    "plain": dataclasses.replace(AVX2, relayouts=False),
    "far": AVX2.in_context(OperandContext(far=True, packed=("rhs", "x1"))),
}


def frame_of(spec: Spec, target: Target) -> Frame:
    """The Spec, and others of its key whose sizes and limits are drawn."""
    rng = random.Random(print_spec(spec, target.limits))
    axes = goal_axes(spec, target.threads)
    free = (spec.limits[VRF], spec.limits[L1], spec.limits[L2])
    pools = [*axes, (free[0], 1, 12, 16), (free[1], 0, 4, 32, 512), (free[2], 1024)]
    first = (*spec.sizes, *free)
    drawn = [
        [one, *rng.choices(p, k=POINTS)] for one, p in zip(first, pools, strict=True)
    ]
    values = [np.asarray(one, np.int64) for one in drawn]
    count = len(spec.sizes)
    limits = Limits(spec.limits.memories, tuple(values[count:]))
    return Frame(spec.key, tuple(values[:count]), limits)


def at(values: Any, mask: Any) -> list[int]:
    """Values of the places of a mask."""
    return [int(v) for v in np.broadcast_to(values, mask.shape)[mask]]


def lines(action: Action, frame: Frame, target: Target) -> Iterator[str]:
    """All that an action says on a frame; costs and holes where it applies alone."""
    key = frame.key
    dim, first = action.loop_dim(key), action.first_part(key)
    yield f"{action} {action.feature(key)!r} dim={dim} first={first} turn={action.turn}"
    if dim is None:
        yield f"  relevant {_key(action.relevant(key, target))}"
    whole = action.expand(frame, target)
    applies = np.ones(POINTS + 1, bool)
    for condition in whole.conditions:
        holds = np.broadcast_to(np.asarray(condition.holds, bool), applies.shape)
        yield f"  {''.join(map(str, holds.astype(int)))}"
        applies = applies & holds
    if not applies.all():
        place = int(np.argmin(applies))
        yield f"  {action.expand(_one(frame, place), target).refusal()}"
    if not applies.any():
        return
    yield f"  cost {at(whole.cost, applies)}"
    for child in whole.children:
        yield from _hole(child, applies)
    keys = tuple(child.frame.key for child in whole.children)
    assert action.child_keys(key, target) == keys, action
    assert dim is None or action.loop_key(key) == keys[0], action


def _one(frame: Frame, place: int) -> Frame:
    """The Spec at a place."""
    sizes = tuple(int(size[place]) for size in frame.sizes)
    free = tuple(int(value[place]) for value in frame.limits.free)
    return Frame(frame.key, sizes, Limits(frame.limits.memories, free))


def _hole(child: Child, applies: Any) -> Iterator[str]:
    there = applies & np.broadcast_to(np.asarray(child.exists) != 0, applies.shape)
    if there.any():
        times = at(child.times, there)
        yield f"    {child.role} {child.dims} {times} {_key(child.frame.key)}"
        values = (*child.frame.sizes, *child.frame.limits.free)
        yield f"      {[at(v, there) for v in values]}"


def _key(key: SpecKey) -> str:
    place = "" if key.serial else " forked"
    return f"{key.kind.label} {key.kind} {' '.join(map(str, key.tensors))}{place}"


def said(kind: type[Action], spec: Spec, target: Target) -> list[str]:
    """What the actions of a class say on a Spec and on others of its key."""
    axes, frame = goal_axes(spec, target.threads), frame_of(spec, target)
    texts = [
        line
        for action in kind.candidates(spec.key, axes, target)
        for line in lines(action, frame, target)
    ]
    taken = sorted(map(str, kind.levels_taken(spec.key, target)))
    parts = [kind.part_sizes(spec.key, axis, target) for axis in axes]
    asked = [
        str(form)
        for operand in range(len(spec.tensors))
        for form in kind.forms_beforehand(spec.key, operand, target)
    ]
    return [*texts, f"{taken} {parts} {asked}"] if texts or asked else []


def answers(spec: Spec, target: Target) -> Iterator[str]:
    """Reasons for which those do not apply; cost and holes of those that do."""
    frame = Frame.of(spec)
    for action in by_hand(spec):
        expansion = action.expand(frame, target)
        refusal = expansion.refusal()
        yield f"{action}: {refusal or int(expansion.cost)}"
        if refusal:
            continue
        holes = expansion.rewrite().holes
        yield f"  led by {' '.join(child.role for child in expansion.leading)}"
        yield from (f"  {h.role} {h.times} {h.spec}" for h in holes)


def tried(spec: Spec, target: Target) -> list[str]:
    """The order in which the search tries them."""
    axes = goal_axes(spec, target.threads)
    return [*map(str, candidates(spec.key, axes, target))]


def sections(name: str, text: str) -> dict[str, list[str]]:
    """By action, and ``tried``: all lines behind the checksums of a Spec."""
    target = TARGETS[name]
    spec = parse_spec(text, target.limits)
    if name == "team":
        spec = dataclasses.replace(spec, serial=False)
    kinds = [kind for kind in ACTIONS if kind is not Select]
    by_name = {kind.name: said(kind, spec, target) for kind in kinds}
    by_name["by_hand"] = [*answers(spec, target)]
    by_name["tried"] = [a for a in tried(spec, target) if not a.startswith("select(")]
    return {name: text for name, text in by_name.items() if text}


def row(name: str, text: str) -> str:
    """A line of `FILE`."""
    sums = (
        f"{action}={zlib.crc32(chr(10).join(lines).encode()):x}"
        for action, lines in sections(name, text).items()
    )
    return "\t".join((name, text, *sums))


def goals() -> list[tuple[str, str]]:
    """The targets and Specs of `FILE`."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return [(name, text) for name, text, *_ in rows]


def table() -> str:
    """The text of `FILE`."""
    return "".join(f"{row(*goal)}\n" for goal in goals())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for action, text in sections(*goals()[int(sys.argv[1]) - 1]).items():
            print(f"{action}:", *text, sep="\n  ")
    else:
        FILE.write_text(table())

"""The search space as text: what the search tries on Specs, and what becomes of them.

`listing.txt` holds it: a change of an action shows there, line by line, and is judged
by reading. `python -m tests.actions.listing` writes it anew.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from morello.actions import Action, candidates
from morello.errors import ScheduleError
from morello.machine import AVX2, Target
from morello.machine.operand_context import OperandContext
from morello.search.dp.axes import goal_axes
from morello.spec import Spec, parse_spec, print_spec

FILE = Path(__file__).with_name("listing.txt")

PEELS = dataclasses.replace(AVX2, first_part=2)
NEAR = AVX2.in_context(OperandContext(near=True))
ALIASED = AVX2.in_context(
    OperandContext(aliased=("lhs", "rhs", "out"), row_distance=64)
)
TEAM = dataclasses.replace(AVX2, threads=4)

EPILOGUE = "compose:4x9x3:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t+c[n])"
TWO = "graph=t[m,n]=sum(a[m,k]*w[k,n]);out s[m,n]=relu(t);out y[m,n]=neg(t)"
"""One result of a product is left, then the other is made in the place of both."""
STATE = "graph=out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)"
WINDOW = "graph=y[u]=sum(w[i]*x[pad(u+i,1,1)])"
IMAGE = "graph=y[f,u,v]=sum(w[f,c,i,j]*x[c,{0}])"

TAPS = "graph=out y[u,v,f]+=sum(x[{0},pad(v+j,1,1),c]*w[i,j,c,f])"

GOALS: tuple[tuple[str, Target], ...] = (
    ("fill:4x5:f32:out=[0,1]@L1", AVX2),
    ("move:4x6:f32:src=[1,0]@L2:dst=[0,1,1p4]@L1", AVX2),
    ("move:3x5x4:f32", AVX2),
    ("max:5x9:f32", AVX2),
    ("sum_accum:5x9:f32:x0=[0,1]@L1:v0=[0]@L1", AVX2),
    ("matmul:3x8x16:f32", PEELS),
    ("matmul:3x8x16:f32", NEAR),
    ("matmul_accum:6x4x16:f32:lhs=[0,1,2]@L1:rhs=[0,2,1,2p16]@L2:out=[0,1,2]@L1", AVX2),
    ("matmul_accum:6x64x16:f32:rhs=[0,1,2]@MEM/strided", ALIASED),
    ("matmul:8x5x12:f32", TEAM),
    ("compose:2x700:f32:graph=t[m]=sum(x[m,n]);y[m]=relu(t)", TEAM),
    ("softmax:3x8:f32", AVX2),
    (EPILOGUE, TEAM),
    (f"{EPILOGUE}:x0=[0,1]@L2:x1=[0,1]@L2:v1=[0,1]@L2", AVX2),
    (f"compose:6x3:f32:{WINDOW}", AVX2),
    (f"compose:6x3:f32:{WINDOW}:x1=[0]@L2:l2=16", AVX2),
    ("compose:6x3:f32:graph=y[u]=sum(w[i]*x[u+i])", AVX2),
    (f"compose:2x3x5x5x2x2:f32:{IMAGE.format('u+i,v+j')}", AVX2),
    (f"compose:2x3x4x4x1x1:f32:{IMAGE.format('2*u+i,2*v+j')}", AVX2),
    ("compose:4x1x6:f32:graph=y[m,n]=sum(b[k,n]*a[m,k])", AVX2),
    ("compose:4x19:f32:graph=y[r,n]=x[r,n]*w[r]+b[n]", AVX2),
    ("attention:2x3x4x8x8:f32", AVX2),
    ("max:2x9000:f32", TEAM),
    (f"compose:3x8:f32:{STATE}:v0=[0]@L2:v1=[0]@L2", AVX2),
    ("compose:4x6x5:f32:graph=y[m,n]=sum(b[k,n]*a[m,k])", AVX2),
    (f"compose:4x9x3:f32:{TWO}:v1=[1,0]", AVX2),
    ("compose:3x4x3x2x2x3:f32:graph=y[u,v,f]=sum(x[u+i,v+j,c]*w[i,j,c,f])", AVX2),
    (
        f"compose:4x5x3x3x3x2:f32:{TAPS.format('pad(u+i,1,1)')}"
        ":x0=[0,1,2]@L2:v0=[0,1,2]@L2",
        AVX2,
    ),
    (
        f"compose:4x5x3x2x3x2:f32:{TAPS.format('u+i')}"
        ":x0=[0,1,2]@L2/strided:v0=[0,1,2]@L2",
        AVX2,
    ),
)
"""Small Specs for which each action is tried, by itself or beside others."""


def lines(spec: Spec, target: Target) -> Iterator[str]:
    """Actions that the search tries, their cost and holes, or why they do not apply."""
    for action in candidates(spec.key, goal_axes(spec, target.threads), target):
        yield from _lines(action, spec, target)


def _lines(action: Action, spec: Spec, target: Target) -> Iterator[str]:
    feature = action.feature(spec.key)
    try:
        rewrite = action.apply(spec, target)
    except ScheduleError as error:
        yield f"  {action}: {str(error).rpartition(': ')[2]}"
        return
    yield f"  {action}: {rewrite.cost}{f' ({feature})' if feature else ''}"
    for hole in rewrite.holes:
        yield f"    {hole.role} {hole.times} {print_spec(hole.spec, spec.limits)}"


def listing() -> str:
    """The text of `FILE`."""
    text = []
    for goal, target in GOALS:
        spec = parse_spec(goal, target.limits)
        for serial in sorted({target.threads == 1, True}):
            text.append(f"{goal}, {'one thread' if serial else 'a team'}")
            text.extend(lines(dataclasses.replace(spec, serial=serial), target))
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    FILE.write_text(listing())

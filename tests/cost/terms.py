"""What the cost model says of transfers, copies and kernels, in each context of a goal.

`python -m tests.cost.terms` writes `terms.tsv` anew.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

from morello.cost.counts import Access, Lines, OpCounts, Phase
from morello.cost.of_target import cost_model
from morello.learned.ledger import FITTED, with_costs
from morello.machine import AVX2, Target
from morello.machine.operand_context import OperandContext
from morello.machine.targets.avx512 import AVX512
from morello.spec import L1, L2, MEM, Layout, Spec, parse_spec
from morello.spec.frame import Frame

FILE = Path(__file__).with_name("terms.tsv")

PRICES = {name: 1000 + 37 * place for place, name in enumerate(FITTED)}
"""Millicycles: no machine's, so that the table is the cost model's alone."""

PRICED = with_costs(AVX2, PRICES)
PRICED_512 = with_costs(AVX512, PRICES)
NAMES = ("lhs", "rhs", "out", "src", "dst", "x0", "x1", "v0")
SMALL = dataclasses.replace(PRICED, l3_lines=40)
"""A last-level cache that a buffer of 14 lines takes more than a third of."""

CONTEXTS = {
    "plain": PRICED,
    "far": PRICED.in_context(OperandContext(far=True, packed=("rhs",))),
    "near": PRICED.in_context(OperandContext(near=True)),
    "aliased": PRICED.in_context(OperandContext(aliased=NAMES, row_distance=64)),
    "apart": PRICED.in_context(OperandContext(aliased=NAMES, row_distance=4)),
    "wider": PRICED.in_context(OperandContext(widened=(("rhs", 4),), row_distance=64)),
    "crossing": PRICED.in_context(OperandContext(crossing=NAMES)),
    "small": SMALL,
    "avx512": PRICED_512,
}

GOALS = (
    "matmul_accum:6x64x16:f32",
    "matmul:1x8x40:f32:rhs=[0,2,1,2p16]",
    "matmul:20x300x16:bf16,bf16,f32:rhs=[0,2,1]:out=[0,1,2]@L2",
    "matmul:9x16x3:f32:lhs=[0,1,2]@L2/strided:rhs=[0,1,2]@L2/strided",
    "move:4x20:f32:src=[0,1]/strided",
    "move:4x20:f32:src=[1,0]/strided",
    "max:5x19:f32",
    "max:2x19:f32:x0=[0,1]/strided",
    "matmul_accum:2x8x16:f32:lhs=[0,1,2]@L1/strided:rhs=[0,1,2]@L1/strided",
    "compose:4x19:f32:graph=y[r,n]=x[r,n]*w[r]",
    "compose:9x5:f32:graph=out t[n]=sum(x[m,n])",
    "compose:20x24x19:f32:graph=s[m,n]=sum(x[m,k]*w[k,n]);y[m,n]=maximum(s,0)",
)

PHASES = {
    "demand": Lines(1, 10, Access.DEMAND),
    "overlapped": Lines(1, 10, Access.OVERLAPPED, starts=3, rows=12, passes=2),
    "streamed": Lines(1, 10, Access.STREAMED, starts=2),
    "fetched": Lines(1, 10, Access.DEMAND, prefetched=True),
    "prefetched": Lines(1, 10, Access.OVERLAPPED, prefetched=True, parts=4),
    "copied": Lines(1, 10, Access.OVERLAPPED, copied=True),
    "exposed": Lines(0, 10, Access.OVERLAPPED, hidden=False, crossing=5, rows=700),
    "stored": Lines(0, 10, Access.STORED, rows=5),
}


def kernels(frame: Frame, target: Target) -> Iterator[str]:
    """Costs of phases that read lines, with less and more to compute beside them."""
    model = cost_model(target)
    for name, lines in PHASES.items():
        ops = ({}, {"fma": 900, "vector_op": 600, "load": 500})
        phases = (Phase(busy, {"fma": 1}, (lines,), times=3) for busy in ops)
        costs = [
            model.kernel(frame, OpCounts((phase,), loops=2, trips=5))
            for phase in phases
        ]
        yield f"{name} {' '.join(str(int(cost)) for cost in costs)}"
    rows = (
        Phase({"fma": 9 * vectors, "load": vectors}, times=50, latency={"fma": 30})
        for vectors in (1, 4, 100)
    )
    costs = [model.kernel(frame, OpCounts((phase,))) for phase in rows]
    yield f"rows {' '.join(str(int(cost)) for cost in costs)}"


def moves(frame: Frame, target: Target) -> Iterator[str]:
    """Costs of tiles that come to a cache, and of copies, operand by operand."""
    model = cost_model(target)
    for (i, operand), level in itertools.product(
        enumerate(frame.key.kind.operands), (MEM, L2, L1)
    ):
        tensor = frame.key.tensors[i]
        dest = dataclasses.replace(tensor, level=level)
        row_major = dataclasses.replace(dest, layout=Layout.row_major(tensor.rank))
        brought = int(model.transfer(frame, i, dest)) if level < tensor.level else "-"
        copied = int(model.buffer(frame, i, row_major))
        yield f"{operand.name} {level} {brought} {copied}"


def programs(target: Target) -> Iterator[str]:
    """Costs of what joins the parts of a program."""
    model, counts = cost_model(target), (0, 1, 7)
    for name in ("loop", "parallel"):
        cost = getattr(model, name)
        prices = [int(cost(trips, rest)) for trips in counts for rest in counts]
        yield f"{name} {' '.join(map(str, prices))}"
    yield f"temporary {' '.join(str(int(model.temporary(n))) for n in counts)}"


def rows(spec: Spec, context: str) -> Iterator[str]:
    """Lines of the table for a Spec in a context."""
    target, frame = CONTEXTS[context], Frame.of(spec)
    for text in (*moves(frame, target), *kernels(frame, target)):
        yield f"  {context} {text}"


def targets() -> Iterator[str]:
    """What is left of caches, and the contexts of goals."""
    for level, amount in itertools.product((L2, L1), (0, 1, 3, 100, 300, 512, 8192)):
        if amount <= AVX2.limits[level]:
            yield f"take {amount} of {level}: {AVX2.take(AVX2.limits, level, amount)}"
    for goal in (*GOALS, "matmul:512x1024x1024:f32", "matmul:4x8192x4096:f32"):
        context = AVX2.at(parse_spec(goal, AVX2.limits)).operand_context
        yield f"{goal}: {context}"


def table() -> str:
    """The text of `FILE`."""
    text = list(targets())
    for target in (PRICED, PRICED_512):
        text += [f"{target.name} {line}" for line in programs(target)]
    for goal in GOALS:
        spec = parse_spec(goal, AVX2.limits)
        plain = list(rows(spec, "plain"))
        text += [goal, *plain]
        for context in CONTEXTS:
            other = rows(spec, context)
            changed = zip(plain, other, strict=False)
            text += [b for a, b in changed if b.split()[1:] != a.split()[1:]]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    FILE.write_text(table())

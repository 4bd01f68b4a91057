"""The inner loop of a gather, as machine code: one pass instead of one an operation.

For each point of the sizes, and each pair of what is left of L1 and of L2::

    T[p, i, j] = min(T[p, i, j], own[p] + sum of times[p] · H[at[p], slice[
                     vrf[p] + l1[p, i] + l2[p, j]]])

over the holes H of an action. A place that is negative has no program. What does not
vary has a step of 0. Each hole is several words, `HOLE` says which.

Almost half of the points of a search have a hole without a program in any slice: they
are left before anything is summed.
"""

import functools
from typing import Any

from morello.search.dp.machine_code import POINTER, WORD, load_engine, native_function

HOLE = (
    "table",
    "slice",
    "slices.count",
    "most",
    "at",
    "at_point",
    "times",
    "times_point",
    "vrf",
    "vrf_point",
    "l1",
    "l1_point",
    "l1_class",
    "l2",
    "l2_point",
    "l2_class",
)
"""The words of a hole: where its arrays are, and their steps along points and classes;
how many slices its table has, and the one of the greatest limits.
``table`` (`Costs.slices`) and ``times`` hold float64, the others int64."""

_WORDS = len(HOLE)


_SUMMED = tuple(name for name in HOLE if name != "most")


def _field(name: str, prefix: str = "") -> str:
    """Load a word of a hole; a prefix tells its names from those of another loop."""
    value, hole = (f"%{prefix}.{n}" if prefix else f"%{n}" for n in (name, "hole"))
    return (
        f"  {value}.word = getelementptr i64, ptr {hole}, i64 {HOLE.index(name)}\n"
        f"  {value} = load i64, ptr {value}.word\n"
    )


_SOURCE = f"""
define void @gather(ptr noalias %costs, ptr noalias %decisions, ptr noalias %sums,
                    i64 %points, i64 %near, i64 %far, ptr %rows, ptr %own,
                    i64 %own.point, i64 %code64, i64 %count, ptr %holes) {{
entry:
  %code = trunc i64 %code64 to i32
  %width = mul i64 %near, %far
  %any = icmp sgt i64 %count, 0
  br label %point

point:
  %p = phi i64 [ 0, %entry ], [ %p.next, %point.end ]
  %own.off = mul i64 %p, %own.point
  %own.at = getelementptr double, ptr %own, i64 %own.off
  %price = load double, ptr %own.at
  %refused = fcmp oeq double %price, 0x7FF0000000000000
  br i1 %refused, label %point.end, label %ask

ask:
  br i1 %any, label %look, label %fill

look:
  %l = phi i64 [ 0, %ask ], [ %l.next, %look.end ]
  %l.off = mul i64 %l, {_WORDS}
  %l.hole = getelementptr i64, ptr %holes, i64 %l.off
{"".join(_field(name, "l") for name in ("table", "slices.count", "most"))}
{"".join(_field(name, "l") for name in ("at", "at_point"))}
  %l.array = inttoptr i64 %l.at to ptr
  %l.point = mul i64 %p, %l.at_point
  %l.first.at = getelementptr i64, ptr %l.array, i64 %l.point
  %l.there = load i64, ptr %l.first.at
  %l.first = mul i64 %l.there, %l.slices.count
  %lost = icmp slt i64 %l.first, 0
  br i1 %lost, label %point.end, label %try

try:
  %l.data = inttoptr i64 %l.table to ptr
  %l.row = getelementptr double, ptr %l.data, i64 %l.first
  %l.most.at = getelementptr double, ptr %l.row, i64 %l.most
  %l.least = load double, ptr %l.most.at
  %likely = fcmp one double %l.least, 0x7FF0000000000000
  br i1 %likely, label %look.end, label %seek

seek:
  %x = phi i64 [ 0, %try ], [ %x.next, %seek.next ]
  %x.at = getelementptr double, ptr %l.row, i64 %x
  %x.cost = load double, ptr %x.at
  %x.there = fcmp one double %x.cost, 0x7FF0000000000000
  br i1 %x.there, label %look.end, label %seek.next

seek.next:
  %x.next = add i64 %x, 1
  %x.end = icmp eq i64 %x.next, %l.slices.count
  br i1 %x.end, label %point.end, label %seek

look.end:
  %l.next = add i64 %l, 1
  %l.end = icmp eq i64 %l.next, %count
  br i1 %l.end, label %fill, label %look

fill:
  %f = phi i64 [ 0, %ask ], [ 0, %look.end ], [ %f.next, %fill ]
  %f.at = getelementptr double, ptr %sums, i64 %f
  store double %price, ptr %f.at
  %f.next = add i64 %f, 1
  %f.end = icmp eq i64 %f.next, %width
  br i1 %f.end, label %filled, label %fill

filled:
  br i1 %any, label %each, label %least

each:
  %c = phi i64 [ 0, %filled ], [ %c.next, %each.end ]
  %c.off = mul i64 %c, {_WORDS}
  %hole = getelementptr i64, ptr %holes, i64 %c.off
{"".join(map(_field, _SUMMED))}
  %at.array = inttoptr i64 %at to ptr
  %at.off = mul i64 %p, %at_point
  %first.at = getelementptr i64, ptr %at.array, i64 %at.off
  %there = load i64, ptr %first.at
  %first = mul i64 %there, %slices.count
  %t.array = inttoptr i64 %times to ptr
  %t.off = mul i64 %p, %times_point
  %t.at = getelementptr double, ptr %t.array, i64 %t.off
  %t = load double, ptr %t.at
  %data = inttoptr i64 %table to ptr
  %slices = inttoptr i64 %slice to ptr
  %vrf.array = inttoptr i64 %vrf to ptr
  %vrf.off = mul i64 %p, %vrf_point
  %v.at = getelementptr i64, ptr %vrf.array, i64 %vrf.off
  %v = load i64, ptr %v.at
  %l1.array = inttoptr i64 %l1 to ptr
  %l1.off = mul i64 %p, %l1_point
  %l1.row = getelementptr i64, ptr %l1.array, i64 %l1.off
  %l2.array = inttoptr i64 %l2 to ptr
  %l2.off = mul i64 %p, %l2_point
  %l2.row = getelementptr i64, ptr %l2.array, i64 %l2.off
  br label %class

class:
  %i = phi i64 [ 0, %each ], [ %i.next, %class.end ]
  %i.off = mul i64 %i, %l1_class
  %i.at = getelementptr i64, ptr %l1.row, i64 %i.off
  %q = load i64, ptr %i.at
  %start = add i64 %v, %q
  %no.class = icmp slt i64 %q, 0
  %i.base = mul i64 %i, %far
  br label %cell

cell:
  %j = phi i64 [ 0, %class ], [ %j.next, %cell ]
  %j.off = mul i64 %j, %l2_class
  %j.at = getelementptr i64, ptr %l2.row, i64 %j.off
  %r = load i64, ptr %j.at
  %no.cell = icmp slt i64 %r, 0
  %none = or i1 %no.class, %no.cell
  %sought = add i64 %start, %r
  %known = select i1 %none, i64 0, i64 %sought
  %slice.of = getelementptr i64, ptr %slices, i64 %known
  %which = load i64, ptr %slice.of
  %place = add i64 %first, %which
  %cost.at = getelementptr double, ptr %data, i64 %place
  %found = load double, ptr %cost.at
  %cost = select i1 %none, double 0x7FF0000000000000, double %found
  %counted = fmul double %t, %cost
  %sum.off = add i64 %i.base, %j
  %sum.at = getelementptr double, ptr %sums, i64 %sum.off
  %sum = load double, ptr %sum.at
  %sum.next = fadd double %sum, %counted
  store double %sum.next, ptr %sum.at
  %j.next = add i64 %j, 1
  %j.end = icmp eq i64 %j.next, %far
  br i1 %j.end, label %class.end, label %cell

class.end:
  %i.next = add i64 %i, 1
  %i.end = icmp eq i64 %i.next, %near
  br i1 %i.end, label %each.end, label %class

each.end:
  %c.next = add i64 %c, 1
  %c.end = icmp eq i64 %c.next, %count
  br i1 %c.end, label %least, label %each

least:
  %row.at = getelementptr i64, ptr %rows, i64 %p
  %row = load i64, ptr %row.at
  %mine = getelementptr double, ptr %costs, i64 %row
  %chosen = getelementptr i32, ptr %decisions, i64 %row
  br label %settle

settle:
  %k = phi i64 [ 0, %least ], [ %k.next, %settle ]
  %k.at = getelementptr double, ptr %sums, i64 %k
  %s = load double, ptr %k.at
  %m.at = getelementptr double, ptr %mine, i64 %k
  %m = load double, ptr %m.at
  %d.at = getelementptr i32, ptr %chosen, i64 %k
  %d = load i32, ptr %d.at
  %less = fcmp olt double %s, %m
  %m.next = select i1 %less, double %s, double %m
  %d.next = select i1 %less, i32 %code, i32 %d
  store double %m.next, ptr %m.at
  store i32 %d.next, ptr %d.at
  %k.next = add i64 %k, 1
  %k.end = icmp eq i64 %k.next, %width
  br i1 %k.end, label %point.end, label %settle

point.end:
  %p.next = add i64 %p, 1
  %p.end = icmp eq i64 %p.next, %points
  br i1 %p.end, label %done, label %point

done:
  ret void
}}
"""


@functools.cache
def gather_function() -> Any:
    """The compiled function, as ctypes calls it; compiled once a process."""
    kinds = [POINTER] * 3 + [WORD] * 3 + [POINTER] * 2 + [WORD] * 3 + [POINTER]
    return native_function(load_engine(_SOURCE), "gather", None, kinds)

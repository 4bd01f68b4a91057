"""The inner loop of the sweep, as machine code.

Point after point, ascending, so that the holes of all loops of a point are final when
it is settled: for each axis d, and each loop of the point along it,

    T[p, i] = min(T[p, i], trips · H[t, i] + share · H[r, i] + own)

over the slices i of a table, where t and r are p with the tile, or the remainder, as
its coordinate along d, and H is T itself or the table of the holes. Each axis is
several words, `AXIS` says which.

NumPy needs a pass over memory for every operation; this is one pass. A remainder
without a program rules its loop out even where it does not count: 0 · inf is no number,
and less than nothing. It is plain LLVM IR, compiled when it is first used. A tile and
its remainder are other points than the one that is settled: LLVM need not look whether
they overlap. And most rows are short: it had better not unroll them.
"""

import functools
from typing import Any

from morello.search.dp.machine_code import POINTER, WORD, load_engine, native_function

AXIS = (
    "stride",
    "extent",
    "holes",
    "part",
    "starts",
    "main",
    "rest",
    "trips",
    "share",
    "own",
    "codes",
)
"""The words of an axis: how many points are from one of its coordinates to the next;
how many coordinates it has, and the table of the holes; the part of each point, or 0 if
all are of one; and the arrays of the loops (`tiling.Plan`), ``starts`` of one part
after another."""

_WORDS = len(AXIS)
_ARRAYS = AXIS[4:]


def _field(name: str) -> str:
    at = AXIS.index(name)
    kind = "ptr" if name in _ARRAYS else "i64"
    return (
        f"  %{name}.at = getelementptr i64, ptr %axis, i64 {at}\n"
        f"  %{name} = load {kind}, ptr %{name}.at\n"
    )


_SOURCE = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @sweep(ptr %costs, ptr %decisions, ptr %below, i64 %points, i64 %width,
                   i64 %count, ptr %axes, ptr %fixed, ptr %costs.room,
                   ptr %decisions.room) {{
entry:
  %around = icmp ne ptr %fixed, null
  %cost.bytes = mul i64 %width, 8
  %decision.bytes = mul i64 %width, 4
  br label %point

point:
  %p = phi i64 [ 0, %entry ], [ %p.next, %point.end ]
  %row = mul i64 %p, %width
  %cost.row = getelementptr double, ptr %costs, i64 %row
  %decision.row = getelementptr i32, ptr %decisions, i64 %row
  br i1 %around, label %copy, label %settle

copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %costs.room, ptr %cost.row, i64 %cost.bytes,
                                   i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %decisions.room, ptr %decision.row,
                                   i64 %decision.bytes, i1 false)
  br label %settle

settle:
  %cost = phi ptr [ %cost.row, %point ], [ %costs.room, %copy ]
  %decision = phi ptr [ %decision.row, %point ], [ %decisions.room, %copy ]
  br label %each

each:
  %d = phi i64 [ 0, %settle ], [ %d.next, %each.end ]
  %d.off = mul i64 %d, {_WORDS}
  %axis = getelementptr i64, ptr %axes, i64 %d.off
{"".join(map(_field, AXIS))}
  %place = udiv i64 %p, %stride
  %outer = udiv i64 %place, %extent
  %whole = mul i64 %outer, %extent
  %i = sub i64 %place, %whole
  %above = mul i64 %place, %stride
  %inner = sub i64 %p, %above
  %hole.row = mul i64 %outer, %holes
  %one.part = icmp eq i64 %part, 0
  br i1 %one.part, label %known, label %sought

sought:
  %part.array = inttoptr i64 %part to ptr
  %which.at = getelementptr i64, ptr %part.array, i64 %p
  %which.here = load i64, ptr %which.at
  br label %known

known:
  %which = phi i64 [ 0, %each ], [ %which.here, %sought ]
  %of.part = add i64 %extent, 1
  %first = mul i64 %which, %of.part
  %loops = add i64 %first, %i
  %start.at = getelementptr i64, ptr %starts, i64 %loops
  %start = load i64, ptr %start.at
  %end.at = getelementptr i64, ptr %start.at, i64 1
  %end = load i64, ptr %end.at
  %none = icmp eq i64 %start, %end
  br i1 %none, label %each.end, label %step

step:
  %s = phi i64 [ %start, %known ], [ %s.next, %step.end ]
  %t.at = getelementptr i64, ptr %main, i64 %s
  %t = load i64, ptr %t.at
  %t.place = add i64 %hole.row, %t
  %t.above = mul i64 %t.place, %stride
  %t.point = add i64 %t.above, %inner
  %t.off = mul i64 %t.point, %width
  %tile = getelementptr double, ptr %below, i64 %t.off
  %q.at = getelementptr double, ptr %trips, i64 %s
  %q = load double, ptr %q.at
  %h.at = getelementptr double, ptr %share, i64 %s
  %h = load double, ptr %h.at
  %own.each = getelementptr double, ptr %own, i64 %s
  %w = load double, ptr %own.each
  %code.at = getelementptr i32, ptr %codes, i64 %s
  %code = load i32, ptr %code.at
  %r.at = getelementptr i64, ptr %rest, i64 %s
  %r = load i64, ptr %r.at
  %r.place = add i64 %hole.row, %r
  %r.above = mul i64 %r.place, %stride
  %r.point = add i64 %r.above, %inner
  %r.off = mul i64 %r.point, %width
  %left = getelementptr double, ptr %below, i64 %r.off
  %even = icmp slt i64 %r, 0
  br i1 %even, label %even.loop, label %ragged.loop

even.loop:
  %a = phi i64 [ 0, %step ], [ %a.next, %even.loop ]
  %ta.at = getelementptr double, ptr %tile, i64 %a
  %ta = load double, ptr %ta.at, !llvm.access.group !0
  %qa = fmul double %ta, %q
  %va = fadd double %qa, %w
  %ca.at = getelementptr double, ptr %cost, i64 %a
  %ca = load double, ptr %ca.at, !llvm.access.group !0
  %da.at = getelementptr i32, ptr %decision, i64 %a
  %da = load i32, ptr %da.at, !llvm.access.group !0
  %la = fcmp olt double %va, %ca
  %ma = select i1 %la, double %va, double %ca
  %na = select i1 %la, i32 %code, i32 %da
  store double %ma, ptr %ca.at, !llvm.access.group !0
  store i32 %na, ptr %da.at, !llvm.access.group !0
  %a.next = add i64 %a, 1
  %a.end = icmp eq i64 %a.next, %width
  br i1 %a.end, label %step.end, label %even.loop, !llvm.loop !1

ragged.loop:
  %b = phi i64 [ 0, %step ], [ %b.next, %ragged.loop ]
  %tb.at = getelementptr double, ptr %tile, i64 %b
  %tb = load double, ptr %tb.at, !llvm.access.group !0
  %rb.at = getelementptr double, ptr %left, i64 %b
  %rb = load double, ptr %rb.at, !llvm.access.group !0
  %qb = fmul double %tb, %q
  %wb = fadd double %qb, %w
  %hb = fmul double %rb, %h
  %vb = fadd double %wb, %hb
  %cb.at = getelementptr double, ptr %cost, i64 %b
  %cb = load double, ptr %cb.at, !llvm.access.group !0
  %db.at = getelementptr i32, ptr %decision, i64 %b
  %db = load i32, ptr %db.at, !llvm.access.group !0
  %lb = fcmp olt double %vb, %cb
  %mb = select i1 %lb, double %vb, double %cb
  %nb = select i1 %lb, i32 %code, i32 %db
  store double %mb, ptr %cb.at, !llvm.access.group !0
  store i32 %nb, ptr %db.at, !llvm.access.group !0
  %b.next = add i64 %b, 1
  %b.end = icmp eq i64 %b.next, %width
  br i1 %b.end, label %step.end, label %ragged.loop, !llvm.loop !2

step.end:
  %s.next = add i64 %s, 1
  %s.end = icmp eq i64 %s.next, %end
  br i1 %s.end, label %each.end, label %step

each.end:
  %d.next = add i64 %d, 1
  %d.end = icmp eq i64 %d.next, %count
  br i1 %d.end, label %settled, label %each

settled:
  br i1 %around, label %free, label %point.end

free:
  %f = phi i64 [ 0, %settled ], [ %f.next, %free ]
  %f.place = add i64 %row, %f
  %fixed.at = getelementptr i8, ptr %fixed, i64 %f.place
  %is.fixed = load i8, ptr %fixed.at
  %keep = icmp ne i8 %is.fixed, 0
  %cf.at = getelementptr double, ptr %cost.row, i64 %f
  %cf.old = load double, ptr %cf.at
  %cf.room = getelementptr double, ptr %costs.room, i64 %f
  %cf.new = load double, ptr %cf.room
  %cf = select i1 %keep, double %cf.old, double %cf.new
  store double %cf, ptr %cf.at
  %df.at = getelementptr i32, ptr %decision.row, i64 %f
  %df.old = load i32, ptr %df.at
  %df.room = getelementptr i32, ptr %decisions.room, i64 %f
  %df.new = load i32, ptr %df.room
  %df = select i1 %keep, i32 %df.old, i32 %df.new
  store i32 %df, ptr %df.at
  %f.next = add i64 %f, 1
  %f.end = icmp eq i64 %f.next, %width
  br i1 %f.end, label %point.end, label %free

point.end:
  %p.next = add i64 %p, 1
  %p.end = icmp eq i64 %p.next, %points
  br i1 %p.end, label %done, label %point

done:
  ret void
}}

!0 = distinct !{{}}
!1 = distinct !{{!1, !3, !4, !5}}
!2 = distinct !{{!2, !3, !4, !5}}
!3 = !{{!"llvm.loop.parallel_accesses", !0}}
!4 = !{{!"llvm.loop.vectorize.width", i32 4}}
!5 = !{{!"llvm.loop.interleave.count", i32 1}}
"""


@functools.cache
def sweep_function() -> Any:
    """The compiled function, as ctypes calls it; compiled once a process."""
    kinds = [POINTER] * 3 + [WORD] * 3 + [POINTER] * 4
    return native_function(load_engine(_SOURCE), "sweep", None, kinds)

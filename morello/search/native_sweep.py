"""The inner loop of the sweep, as machine code.

NumPy needs a pass over memory for every operation of ``trips · T[t] + share · T[r] +
own`` and its minimum; this is one pass. A remainder without a program rules its loop
out even where it does not count: 0 · inf is no number, and less than nothing.
It is plain LLVM IR, compiled when it is first used. A tile and its remainder are other
points than the one that is settled: LLVM need not look whether they overlap. And most
rows are short: it had better not unroll them.
"""

import ctypes
import functools
from typing import Any

from morello.search.machine_code import POINTER, WORD, load_engine, native_function

_SOURCE = """
define i32 @sweep(ptr %costs, ptr %decisions, ptr %below, i64 %outer, i64 %count,
                  i64 %holes, i64 %inner, ptr %starts, ptr %main, ptr %rest,
                  ptr %trips, ptr %share, ptr %own, ptr %codes) {
entry:
  br label %block

block:
  %o = phi i64 [ 0, %entry ], [ %o.next, %block.end ]
  %any0 = phi i32 [ 0, %entry ], [ %any1, %block.end ]
  %base = mul i64 %o, %count
  %hole.base = mul i64 %o, %holes
  br label %point

point:
  %i = phi i64 [ 0, %block ], [ %i.next, %point.end ]
  %any1.in = phi i32 [ %any0, %block ], [ %any1, %point.end ]
  %start.at = getelementptr i64, ptr %starts, i64 %i
  %start = load i64, ptr %start.at
  %i.next = add i64 %i, 1
  %end.at = getelementptr i64, ptr %starts, i64 %i.next
  %end = load i64, ptr %end.at
  %row = add i64 %base, %i
  %row.at = mul i64 %row, %inner
  %cost = getelementptr double, ptr %costs, i64 %row.at
  %decision = getelementptr i32, ptr %decisions, i64 %row.at
  %none = icmp eq i64 %start, %end
  br i1 %none, label %point.end, label %step

step:
  %s = phi i64 [ %start, %point ], [ %s.next, %step.end ]
  %any2.in = phi i32 [ %any1.in, %point ], [ %any2, %step.end ]
  %t.at = getelementptr i64, ptr %main, i64 %s
  %t = load i64, ptr %t.at
  %t.row = add i64 %hole.base, %t
  %t.off = mul i64 %t.row, %inner
  %tile = getelementptr double, ptr %below, i64 %t.off
  %q.at = getelementptr double, ptr %trips, i64 %s
  %q = load double, ptr %q.at
  %h.at = getelementptr double, ptr %share, i64 %s
  %h = load double, ptr %h.at
  %own.at = getelementptr double, ptr %own, i64 %s
  %w = load double, ptr %own.at
  %code.at = getelementptr i32, ptr %codes, i64 %s
  %code = load i32, ptr %code.at
  %r.at = getelementptr i64, ptr %rest, i64 %s
  %r = load i64, ptr %r.at
  %r.row = add i64 %hole.base, %r
  %r.off = mul i64 %r.row, %inner
  %left = getelementptr double, ptr %below, i64 %r.off
  %even = icmp slt i64 %r, 0
  br i1 %even, label %even.loop, label %ragged.loop

even.loop:
  %a = phi i64 [ 0, %step ], [ %a.next, %even.loop ]
  %any.a = phi i32 [ %any2.in, %step ], [ %any.a.next, %even.loop ]
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
  %xa = zext i1 %la to i32
  %any.a.next = or i32 %any.a, %xa
  %a.next = add i64 %a, 1
  %a.end = icmp eq i64 %a.next, %inner
  br i1 %a.end, label %step.end, label %even.loop, !llvm.loop !1

ragged.loop:
  %b = phi i64 [ 0, %step ], [ %b.next, %ragged.loop ]
  %any.b = phi i32 [ %any2.in, %step ], [ %any.b.next, %ragged.loop ]
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
  %xb = zext i1 %lb to i32
  %any.b.next = or i32 %any.b, %xb
  %b.next = add i64 %b, 1
  %b.end = icmp eq i64 %b.next, %inner
  br i1 %b.end, label %step.end, label %ragged.loop, !llvm.loop !2

step.end:
  %any2 = phi i32 [ %any.a.next, %even.loop ], [ %any.b.next, %ragged.loop ]
  %s.next = add i64 %s, 1
  %s.end = icmp eq i64 %s.next, %end
  br i1 %s.end, label %point.end, label %step

point.end:
  %any1 = phi i32 [ %any1.in, %point ], [ %any2, %step.end ]
  %i.end = icmp eq i64 %i.next, %count
  br i1 %i.end, label %block.end, label %point

block.end:
  %o.next = add i64 %o, 1
  %o.end = icmp eq i64 %o.next, %outer
  br i1 %o.end, label %done, label %block

done:
  ret i32 %any1
}

!0 = distinct !{}
!1 = distinct !{!1, !3, !4, !5}
!2 = distinct !{!2, !3, !4, !5}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = !{!"llvm.loop.vectorize.width", i32 4}
!5 = !{!"llvm.loop.interleave.count", i32 1}
"""


@functools.cache
def sweep_function() -> Any:
    """The compiled function, as ctypes calls it; compiled once a process."""
    kinds = [POINTER] * 3 + [WORD] * 4 + [POINTER] * 7
    return native_function(load_engine(_SOURCE), "sweep", ctypes.c_int32, kinds)

"""The inner loop of counting, as machine code: sums of products, all as -log2.

For each point p in order, and each of its limits i, with the pairs (t, r) of p::

    T[p, i] = -log2(2^-T[p, i] + sum of 2^-(B[t, i] + B[r, i]))

Terms below 2^-60 of the greatest change nothing and cost no exponential.
"""

import functools
from typing import Any

from morello.search.dp.machine_code import POINTER, WORD, load_engine, native_function

_SOURCE = """
declare double @llvm.exp2.f64(double)
declare double @llvm.log2.f64(double)
declare double @llvm.minnum.f64(double, double)

define double @term(ptr %below, i64 %inner, i64 %i, ptr %main, ptr %rest, i64 %k) {
entry:
  %t.at = getelementptr i64, ptr %main, i64 %k
  %t = load i64, ptr %t.at
  %t.row = mul i64 %t, %inner
  %t.off = add i64 %t.row, %i
  %t.ptr = getelementptr double, ptr %below, i64 %t.off
  %tv = load double, ptr %t.ptr
  %r.at = getelementptr i64, ptr %rest, i64 %k
  %r = load i64, ptr %r.at
  %none = icmp slt i64 %r, 0
  br i1 %none, label %even, label %ragged
even:
  ret double %tv
ragged:
  %r.row = mul i64 %r, %inner
  %r.off = add i64 %r.row, %i
  %r.ptr = getelementptr double, ptr %below, i64 %r.off
  %rv = load double, ptr %r.ptr
  %sum = fadd double %tv, %rv
  ret double %sum
}

define void @sums(ptr %counts, ptr %below, i64 %points, i64 %inner, ptr %starts,
                  ptr %main, ptr %rest) {
entry:
  br label %point

point:
  %p = phi i64 [ 0, %entry ], [ %p.next, %point.end ]
  %p.next = add i64 %p, 1
  %start.at = getelementptr i64, ptr %starts, i64 %p
  %start = load i64, ptr %start.at
  %end.at = getelementptr i64, ptr %starts, i64 %p.next
  %end = load i64, ptr %end.at
  %base = mul i64 %p, %inner
  %empty = icmp eq i64 %start, %end
  br i1 %empty, label %point.end, label %limit

limit:
  %i = phi i64 [ 0, %point ], [ %i.next, %limit.end ]
  %i.next = add i64 %i, 1
  %off = add i64 %base, %i
  %at = getelementptr double, ptr %counts, i64 %off
  %old = load double, ptr %at
  br label %least

least:
  %k = phi i64 [ %start, %limit ], [ %k.next, %least ]
  %low = phi double [ %old, %limit ], [ %low.next, %least ]
  %v = call double @term(ptr %below, i64 %inner, i64 %i, ptr %main, ptr %rest, i64 %k)
  %low.next = call double @llvm.minnum.f64(double %low, double %v)
  %k.next = add i64 %k, 1
  %k.end = icmp eq i64 %k.next, %end
  br i1 %k.end, label %least.end, label %least

least.end:
  %any = fcmp olt double %low.next, 0x7FF0000000000000
  br i1 %any, label %first, label %limit.end

first:
  %d0 = fsub double %low.next, %old
  %e0 = call double @llvm.exp2.f64(double %d0)
  br label %add

add:
  %j = phi i64 [ %start, %first ], [ %j.next, %add.end ]
  %total = phi double [ %e0, %first ], [ %total.next, %add.end ]
  %w = call double @term(ptr %below, i64 %inner, i64 %i, ptr %main, ptr %rest, i64 %j)
  %d = fsub double %low.next, %w
  %counts.much = fcmp ogt double %d, -6.000000e+01
  br i1 %counts.much, label %much, label %add.end

much:
  %e = call double @llvm.exp2.f64(double %d)
  %more = fadd double %total, %e
  br label %add.end

add.end:
  %total.next = phi double [ %total, %add ], [ %more, %much ]
  %j.next = add i64 %j, 1
  %j.end = icmp eq i64 %j.next, %end
  br i1 %j.end, label %store, label %add

store:
  %log = call double @llvm.log2.f64(double %total.next)
  %new = fsub double %low.next, %log
  store double %new, ptr %at
  br label %limit.end

limit.end:
  %i.end = icmp eq i64 %i.next, %inner
  br i1 %i.end, label %point.end, label %limit

point.end:
  %p.end = icmp eq i64 %p.next, %points
  br i1 %p.end, label %done, label %point

done:
  ret void
}
"""


@functools.cache
def sum_function() -> Any:
    """The compiled function, as ctypes calls it; compiled once a process."""
    kinds = [POINTER, POINTER, WORD, WORD, POINTER, POINTER, POINTER]
    return native_function(load_engine(_SOURCE), "sums", None, kinds)

"""What calls share, as LLVM IR: workspaces, and processors.

Parts of `call_code.py`: functions on the table of a native function.
"""

from morello.runtime.call_table import Word

_WORKSPACES = """
define internal ptr @take(ptr %table) {
entry:
  br label %look
look:
  %i = phi i64 [ {first}, %entry ], [ %next, %on ]
  %slot = getelementptr i64, ptr %table, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %full = icmp ne ptr %seen, null
  br i1 %full, label %try, label %on
try:
  %old = atomicrmw xchg ptr %slot, ptr null acquire
  %got = icmp ne ptr %old, null
  br i1 %got, label %found, label %on
on:
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, {end}
  br i1 %end, label %new, label %look
found:
  ret ptr %old
new:
  %size.at = getelementptr i64, ptr %table, i64 {size}
  %size = load i64, ptr %size.at
  %align.at = getelementptr i64, ptr %table, i64 {align}
  %align = load i64, ptr %align.at
  %memory = call ptr @aligned_alloc(i64 %align, i64 %size)
  %large = icmp ugt i64 %align, 4096
  %there = icmp ne ptr %memory, null
  %advise = and i1 %large, %there
  br i1 %advise, label %huge, label %done
huge:
  %ignored = call i32 @madvise(ptr %memory, i64 %size, i32 14)
  br label %done
done:
  ret ptr %memory
}

define internal void @give(ptr %table, ptr %memory) {
entry:
  br label %look
look:
  %i = phi i64 [ {first}, %entry ], [ %next, %on ]
  %slot = getelementptr i64, ptr %table, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %try, label %on
try:
  %pair = cmpxchg ptr %slot, ptr null, ptr %memory release monotonic
  %put = extractvalue { ptr, i1 } %pair, 1
  br i1 %put, label %done, label %on
on:
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, {end}
  br i1 %end, label %drop, label %look
drop:
  call void @free(ptr %memory)
  br label %done
done:
  ret void
}
"""
"""Workspaces that are not in use lie in slots of the table; one that finds no slot is
freed. Large ones are given huge pages (MADV_HUGEPAGE is 14)."""

_TEAMS = """
declare i32 @omp_get_max_active_levels()
declare void @omp_set_max_active_levels(i32)

define internal i64 @join(ptr %table) {
entry:
  %busy.at = call ptr @field(ptr %table, i64 {busy})
  %threads.at = getelementptr i64, ptr %table, i64 {threads}
  %threads = load i64, ptr %threads.at
  %limit.at = getelementptr i64, ptr %table, i64 {limit}
  %limit = load i64, ptr %limit.at
  %others = atomicrmw add ptr %busy.at, i64 %threads monotonic
  %alone = icmp eq i64 %others, 0
  %all = add i64 %others, %threads
  %enough = icmp ule i64 %all, %limit
  %together = or i1 %alone, %enough
  br i1 %together, label %team, label %single
team:
  ret i64 %threads
single:
  %rest = sub i64 %threads, 1
  %ignored = atomicrmw sub ptr %busy.at, i64 %rest monotonic
  ret i64 1
}

define internal void @leave(ptr %table, i64 %taken) {
  %busy.at = call ptr @field(ptr %table, i64 {busy})
  %ignored = atomicrmw sub ptr %busy.at, i64 %taken monotonic
  ret void
}
"""
"""``join`` answers how many threads a call may have: all that it wants, or 1."""

_CALL_TEAM = """\
  %taken = call i64 @join(ptr %table)
  %is.single = icmp eq i64 %taken, 1
  br i1 %is.single, label %single, label %team
single:
  %levels = call i32 @omp_get_max_active_levels()
  call void @omp_set_max_active_levels(i32 0)
{call}
  call void @omp_set_max_active_levels(i32 %levels)
  br label %left
team:
{call}
  br label %left
left:
  call void @leave(ptr %table, i64 %taken)"""


def fill(template: str, **values: object) -> str:
    """The template with ``{name}`` replaced; braces of LLVM IR stay as they are."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", str(value))
    return template


def workspaces() -> str:
    """LLVM IR of ``take(table)`` and ``give(table, workspace)``."""
    return fill(
        _WORKSPACES,
        first=Word.SLOTS,
        end=Word.ARRAY_TYPE,
        size=Word.WORKSPACE_SIZE,
        align=Word.WORKSPACE_ALIGNMENT,
    )


def teams() -> str:
    """LLVM IR of ``join(table)`` and ``leave(table, threads)``."""
    return fill(_TEAMS, busy=8 * Word.BUSY, threads=Word.THREADS, limit=Word.PROCESSORS)


def call_in_team(call: str) -> str:
    """A call with as many threads as it may have; the table is ``%table``."""
    return fill(_CALL_TEAM, call=call)

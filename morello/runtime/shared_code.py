"""LLVM IR of what calls share: workspaces, and processors.

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
declare i64 @pthread_self()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_mutex_destroy(ptr)

@callers = internal global [{callers} x i64] zeroinitializer
@tried = internal global [{callers} x i64] zeroinitializer

define internal ptr @pass(ptr %gate) {
  %locked = call i32 @pthread_mutex_lock(ptr %gate)
  %opened = call i32 @pthread_mutex_unlock(ptr %gate)
  ret ptr null
}

define internal i1 @startable(i64 %threads) {
entry:
  %self = call i64 @pthread_self()
  %page = lshr i64 %self, 12
  %place = urem i64 %page, {callers}
  %caller.at = getelementptr i64, ptr @callers, i64 %place
  %tried.at = getelementptr i64, ptr @tried, i64 %place
  %caller = load atomic i64, ptr %caller.at monotonic, align 8
  %tried = load atomic i64, ptr %tried.at monotonic, align 8
  %same = icmp eq i64 %caller, %self
  %enough = icmp uge i64 %tried, %threads
  %known = and i1 %same, %enough
  br i1 %known, label %yes, label %try
try:
  %more = sub i64 %threads, 1
  %gate = alloca [8 x i64], align 16
  %ids = alloca i64, i64 %more
  %made.gate = call i32 @pthread_mutex_init(ptr %gate, ptr null)
  %closed = call i32 @pthread_mutex_lock(ptr %gate)
  br label %next
next:
  %i = phi i64 [ 0, %try ], [ %after, %on ]
  %all = icmp eq i64 %i, %more
  br i1 %all, label %open, label %start
start:
  %id.at = getelementptr i64, ptr %ids, i64 %i
  %error = call i32 @pthread_create(ptr %id.at, ptr null, ptr @pass, ptr %gate)
  %started = icmp eq i32 %error, 0
  br i1 %started, label %on, label %open
on:
  %after = add i64 %i, 1
  br label %next
open:
  %opened = call i32 @pthread_mutex_unlock(ptr %gate)
  br label %wait
wait:
  %j = phi i64 [ 0, %open ], [ %later, %end ]
  %ended = icmp eq i64 %j, %i
  br i1 %ended, label %done, label %end
end:
  %joined.at = getelementptr i64, ptr %ids, i64 %j
  %joined = load i64, ptr %joined.at
  %status = call i32 @pthread_join(i64 %joined, ptr null)
  %later = add i64 %j, 1
  br label %wait
done:
  %gone = call i32 @pthread_mutex_destroy(ptr %gate)
  br i1 %all, label %keep, label %no
keep:
  store atomic i64 %threads, ptr %tried.at monotonic, align 8
  store atomic i64 %self, ptr %caller.at monotonic, align 8
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

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
  br i1 %together, label %try, label %single
try:
  %can = call i1 @startable(i64 %threads)
  br i1 %can, label %team, label %single
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
"""``join`` answers how many threads a call may have: all that it wants, or 1.

Where no more threads can be made (a limit of the system or of a container) the runtime
ends the process: so the first call of a thread tries to start as many, all at once."""

_CALLERS = 64
"""Places for threads that have tried; two that share one try again in turns."""

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
    return fill(
        _TEAMS,
        busy=8 * Word.BUSY,
        threads=Word.THREADS,
        limit=Word.PROCESSORS,
        callers=_CALLERS,
    )


def call_in_team(call: str) -> str:
    """A call with as many threads as it may have; the table is ``%table``."""
    return fill(_CALL_TEAM, call=call)

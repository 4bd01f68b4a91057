"""Parallel functions, called one at a time and many at once."""

import ctypes
import os
import re
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.runtime.calls.function import NativeFunction
from morello.runtime.calls.glue import FOLDER, Process, Table
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import compile_llvm
from morello.runtime.openmp import openmp_library
from tests.guarded import check_in_child
from tests.runtime.build import side_by_side

# A parallel region of two threads. It says how many it got, when as many calls as
# `wanted` are in such a region.
REGION = """
%ident = type { i32, i32, i32, i32, ptr }
declare i32 @omp_get_num_threads()
declare i32 @__kmpc_global_thread_num(ptr)
declare void @__kmpc_push_num_threads(ptr, i32, i32)
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)

@text = private constant [7 x i8] c";?;?;;\\00"
@where = private constant %ident { i32 0, i32 2, i32 0, i32 6, ptr @text }

define internal void @region(ptr %id, ptr %bound, ptr %here, ptr %wanted, ptr %out) {
entry:
  %count = call i32 @omp_get_num_threads()
  %wide = sext i32 %count to i64
  store atomic i64 %wide, ptr %out monotonic, align 8
  %all = load i64, ptr %wanted
  br label %wait
wait:
  %now = load atomic i64, ptr %here seq_cst, align 8
  %enough = icmp sge i64 %now, %all
  br i1 %enough, label %done, label %wait
done:
  ret void
}

define void @f(ptr %here, ptr %wanted, ptr %out) {
  %old = atomicrmw add ptr %here, i64 1 seq_cst
  %id = call i32 @__kmpc_global_thread_num(ptr @where)
  call void @__kmpc_push_num_threads(ptr @where, i32 %id, i32 2)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(
      ptr @where, i32 3, ptr @region, ptr %here, ptr %wanted, ptr %out)
  ret void
}"""

WORD = np.dtype(np.int64)
PARAMETERS = (
    Parameter("here", WORD, (1,)),
    Parameter("wanted", WORD, (1,)),
    Parameter("out", WORD, (1,), is_output=True),
)

Call = Callable[..., Any]


def function(processors: int) -> NativeFunction:
    """The function in a process that seems to have ``processors`` processors."""
    assert openmp_library()
    native = NativeFunction(
        compile_llvm(REGION, cpu="haswell"), "f", PARAMETERS, threads=2
    )
    native._table.head.processors = processors
    return native


def ways(native: NativeFunction) -> dict[str, Call]:
    return {
        "checked": native.checked(),
        "bound": lambda *args, out: native.bind(*args, out)(),
        "slow": native,
    }


def together(call: Call, count: int) -> list[int]:
    """The sizes of the teams of so many calls that run at the same time, sorted."""
    return sorted(side_by_side(call, count))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", ["checked", "bound", "slow"])
@pytest.mark.parametrize(
    ("processors", "calls", "teams"),
    [
        (1, 1, [2]),
        (2, 2, [1, 2]),
        (2, 3, [1, 1, 2]),
        (4, 2, [2, 2]),
        (4, 4, [1, 1, 2, 2]),
        (5, 3, [1, 2, 2]),
    ],
)
def test_calls_share_the_processors(
    way: str, processors: int, calls: int, teams: list[int]
) -> None:
    """A lone call has all threads; concurrent calls share them, at least one each."""

    def child() -> None:
        call = ways(function(processors))[way]
        for _ in range(3):
            assert together(call, calls) == teams
        assert together(call, 1) == [2]

    check_in_child(child, seconds=60)


def test_two_functions_share_the_processors() -> None:
    def child() -> None:
        calls = [function(2).checked() for _ in range(2)]
        turn = iter(calls)

        def either(*args: Any, out: Any) -> None:
            next(turn)(*args, out=out)

        assert together(either, 2) == [1, 2]

    check_in_child(child, seconds=60)


def test_settings_of_the_caller_stay() -> None:
    """Parallel regions of the caller keep their number of threads."""

    def child() -> None:
        library = ctypes.CDLL(openmp_library())
        call = function(2).checked()
        levels: list[int] = []

        def work(*args: Any, out: Any) -> None:
            library.omp_set_max_active_levels(3)
            call(*args, out=out)
            levels.append(library.omp_get_max_active_levels())

        assert together(work, 2) == [1, 2]
        assert levels == [3, 3]

    check_in_child(child, seconds=60)


def test_the_runtime_of_gcc_has_no_part() -> None:
    """Its functions have the same names, and PyTorch brings it into the process."""

    def child() -> None:
        ctypes.CDLL("libgomp.so.1", ctypes.RTLD_GLOBAL)
        assert together(function(2).checked(), 2) == [1, 2]

    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:
        pytest.skip("there is no libgomp.so.1")
    check_in_child(child, seconds=60)


def test_a_fork_in_the_middle_of_a_call() -> None:
    """The child's processors are not taken by threads that it does not have."""

    def child() -> None:
        call = function(2).checked()
        here, wanted = np.zeros(1, np.int64), np.full(1, 2)
        out = np.zeros(1, np.int64)
        thread = threading.Thread(target=call, args=(here, wanted, out))
        thread.start()
        while not here[0]:
            pass
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os._exit(0 if together(call, 1) == [2] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        other = np.zeros(1, np.int64)
        call(here, wanted, out=other)
        thread.join()
        assert (int(out[0]), int(other[0])) == (2, 1)

    check_in_child(child, seconds=60)


@pytest.mark.parametrize(("most", "threads"), [(0, 1), (1, 1), (2, 3)])
def test_where_no_more_threads_can_be_made_a_call_has_one(
    most: int, threads: int
) -> None:
    """Of three threads two are new; each that is started passes, and is waited for."""
    declared = "declare i32 @pthread_create(ptr, ptr, ptr, ptr)"
    limited = f"""{declared}
@left = internal global i64 {most}
define internal i32 @limited(ptr %id, ptr %how, ptr %what, ptr %data) {{
  %left = load i64, ptr @left
  %none = icmp eq i64 %left, 0
  br i1 %none, label %refused, label %started
refused:
  ret i32 11
started:
  %fewer = sub i64 %left, 1
  store i64 %fewer, ptr @left
  %error = call i32 @pthread_create(ptr %id, ptr %how, ptr %what, ptr %data)
  ret i32 %error
}}
"""
    called = "call i32 @{}(ptr noundef nonnull %"
    text = (FOLDER / "team.ll").read_text()
    assert text.count(called.format("pthread_create")) == 1
    text = text.replace(called.format("pthread_create"), called.format("limited"))
    text = re.sub(r"declare i32 @pthread_create.*", limited, text)
    engine = compile_llvm(text, cpu="x86-64", opt=0)
    data, table = Process(), Table(threads=3, processors=8)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    enter = kind(engine.address("join"))
    addresses = ctypes.addressof(data), ctypes.addressof(table)
    before = len([*Path("/proc/self/task").iterdir()])
    assert enter(*addresses) == threads
    assert data.busy == threads
    assert len([*Path("/proc/self/task").iterdir()]) == before
    if threads == 3:  # it is tried once
        assert enter(*addresses) == threads

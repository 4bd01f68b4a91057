"""Machine code as a function of arrays: calls, threads, forks, lifetimes."""

import gc
import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.errors import ArgumentError, CompileError
from morello.runtime.calls.function import NativeFunction
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import Engine, compile_llvm
from tests.guarded import check_in_child
from tests.runtime.build import build, side_by_side
from tests.threads import in_threads

Call = Callable[..., Any]

F32 = np.dtype(np.float32)
ROWS, COLUMNS = 64, 32
BYTES = ROWS * COLUMNS * 4

# C = A + B by way of the workspace, slowly enough for calls to meet.
SOURCE = f"""
func.func @add(%A: memref<1x{ROWS}x{COLUMNS}xf32>, %B: memref<1x{ROWS}x{COLUMNS}xf32>,
               %C: memref<1x{ROWS}x{COLUMNS}xf32>, %W: memref<{BYTES}xi8>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = arith.constant {ROWS} : index
  %columns = arith.constant {COLUMNS} : index
  %w = memref.view %W[%c0][] : memref<{BYTES}xi8>
      to memref<1x{ROWS}x{COLUMNS}xf32>
  scf.for %i = %c0 to %rows step %c1 {{
    scf.for %j = %c0 to %columns step %c8 {{
      %v = vector.load %A[%c0, %i, %j] : memref<1x{ROWS}x{COLUMNS}xf32>, vector<8xf32>
      vector.store %v, %w[%c0, %i, %j] : memref<1x{ROWS}x{COLUMNS}xf32>, vector<8xf32>
    }}
  }}
  scf.for %i = %c0 to %rows step %c1 {{
    scf.for %j = %c0 to %columns step %c8 {{
      %v = vector.load %w[%c0, %i, %j] : memref<1x{ROWS}x{COLUMNS}xf32>, vector<8xf32>
      %u = vector.load %B[%c0, %i, %j] : memref<1x{ROWS}x{COLUMNS}xf32>, vector<8xf32>
      %s = arith.addf %v, %u : vector<8xf32>
      vector.store %s, %C[%c0, %i, %j] : memref<1x{ROWS}x{COLUMNS}xf32>, vector<8xf32>
    }}
  }}
  return
}}
"""


def parameter(name: str, **fields: Any) -> Parameter:
    return Parameter(name, F32, (1, ROWS, COLUMNS), ((ROWS, COLUMNS),), **fields)


PARAMETERS = (parameter("a"), parameter("b"), parameter("c", is_output=True))
A = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
B = A[::-1].copy() * 2


@pytest.fixture(scope="module")
def engine() -> Engine:
    return build(SOURCE)


@pytest.fixture(scope="module")
def function(engine: Engine) -> NativeFunction:
    return NativeFunction(engine, "add", PARAMETERS, BYTES)


@pytest.fixture(scope="module", params=["Python", "machine code"])
def add(function: NativeFunction, request: pytest.FixtureRequest) -> Call:
    """The function, with its arguments checked in machine code and in Python."""
    return function if request.param == "Python" else function.checked()


def empty(parameters: tuple[Parameter, ...], workspace: int = 0) -> NativeFunction:
    """A function that does nothing with its pointers."""
    count = len(parameters) + (workspace > 0)
    pointers = ", ".join("ptr" for _ in range(count))
    engine = compile_llvm(f"define void @f({pointers}) {{ ret void }}", cpu="haswell")
    return NativeFunction(engine, "f", parameters, workspace)


def test_ways_to_call(add: Call) -> None:
    out = np.empty_like(A)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: add(A, B, out=out),
        lambda: add(A, B, out),
        lambda: add(A, B, c=out),
        lambda: add(A, b=B, out=out),
        lambda: add(out=out, b=B, a=A),
    )
    for call in calls:
        out[:] = 0
        assert call() is out
        assert (out == A + B).all()
    for new in (add(A, B), add(A, b=B), add(A, B, out=None)):
        assert (new == A + B).all()
        assert new.shape == A.shape


def test_the_result_has_the_rank_of_the_inputs(add: Call) -> None:
    assert add(A, B).shape == (ROWS, COLUMNS)
    assert add(A[None], B[None]).shape == (1, ROWS, COLUMNS)
    assert add(A, B[None]).shape == (1, ROWS, COLUMNS)
    assert empty((parameter("c", is_output=True),))().shape == (1, ROWS, COLUMNS)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "input 'a' is missing; call it as add(a, b, out=...)"),
        ((A,), {}, "input 'b' is missing; call it as"),
        ((), {"b": B}, "input 'a' is missing"),
        ((A, B, B, B), {}, "add takes 3 arguments, 4 were given; call it as"),
        ((A, B), {"output": B}, "add has no argument 'output'; call it as"),
        ((A, B), {"a": A}, "'a' is given twice; call it as"),
        ((A, B, B), {"out": B}, "'c' is given twice; call it as"),
        ((A, B), {"c": B, "out": B}, "'c' is given twice; call it as"),
        ((A, None), {}, "input 'b' is not a NumPy array but None"),
        ((A, B), {"out": A}, "output 'c' overlaps input 'a'"),
        ((A, B), {"out": (A,)}, "output 'c' is not a NumPy array but a tuple"),
        ((A, B[:1]), {}, "input 'b' has shape (1, 32), expected"),
    ],
)
def test_wrong_calls(
    add: Call, args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        add(*args, **kwargs)
    assert message in str(caught.value)


def test_an_output_that_accumulates_must_be_given() -> None:
    function = empty((parameter("a"), parameter("c", is_output=True, accumulates=True)))
    out = np.ones_like(A)
    assert function(A, out=out) is out
    for kwargs in ({}, {"out": None}):
        with pytest.raises(
            ArgumentError, match=r"output 'c' is missing, and f adds to"
        ):
            function(A, **kwargs)


def test_several_outputs() -> None:
    outputs = tuple(parameter(name, is_output=True) for name in "xy")
    function = empty((parameter("a"), *outputs))
    first, second = np.ones_like(A), np.ones_like(A)
    for result in (
        function(A, out=(first, second)),
        function(A, first, second),
        function(a=A, out=(first, second)),
    ):
        assert result[0] is first
        assert result[1] is second
    assert len(function(A)) == 2
    for wrong in ([first, second], first, (first,)):
        with pytest.raises(
            ArgumentError, match="'out' does not hold an array for each"
        ):
            function(A, out=wrong)


def test_no_such_function_and_no_such_workspace(engine: Engine) -> None:
    with pytest.raises(CompileError, match="no function 'sub'; it defines add"):
        NativeFunction(engine, "sub", PARAMETERS)
    with pytest.raises(ValueError, match="a workspace of -1 bytes"):
        NativeFunction(engine, "add", PARAMETERS, -1)


def test_a_function_prints_its_parameters(function: NativeFunction) -> None:
    assert repr(function) == "<native function add(a, b, c)>"


# Counts the calls in a, waits until as many as b says are there, and answers with the
# address of its workspace.
MEET = """
define void @f(ptr %a, ptr %b, ptr %c, ptr %w) {
entry:
  %n = load i64, ptr %b
  %old = atomicrmw add ptr %a, i64 1 seq_cst
  br label %wait
wait:
  %here = load atomic i64, ptr %a seq_cst, align 8
  %all = icmp sge i64 %here, %n
  br i1 %all, label %done, label %wait
done:
  %x = ptrtoint ptr %w to i64
  store i64 %x, ptr %c
  ret void
}"""

WORD = np.dtype(np.int64)
WORDS = (
    Parameter("a", WORD, (1,)),
    Parameter("b", WORD, (1,)),
    Parameter("c", WORD, (1,), is_output=True),
)


def meet(call: Call, count: int) -> set[int]:
    """The workspaces of ``count`` calls that run at the same time."""
    return set(side_by_side(call, count))


@pytest.mark.parametrize("nbytes", [100, 5 << 20])
def test_calls_at_the_same_time_have_workspaces_of_their_own(nbytes: int) -> None:
    def child() -> None:
        engine = compile_llvm(MEET, cpu="haswell")
        function = NativeFunction(engine, "f", WORDS, nbytes)
        for call in (function, function.checked()):
            workspaces = meet(call, 4)
            assert len(workspaces) == 4
            assert all(address % 64 == 0 for address in workspaces)
            # They are kept for later calls; of many only some are.
            assert meet(call, 1) < workspaces
            many = meet(call, 12)
            assert len(many) == 12
            assert workspaces < many
            assert len(many & meet(call, 12)) >= 8

    check_in_child(child, seconds=60)


def test_no_memory_for_a_workspace() -> None:
    engine = compile_llvm(MEET, cpu="haswell")
    function = NativeFunction(engine, "f", WORDS, 1 << 60)
    arrays = [np.zeros(1, np.int64) for _ in range(3)]
    for call in (function, function.checked(), lambda *a: function.bind(*a)()):
        with pytest.raises(MemoryError):
            call(*arrays)


def test_many_threads_share_a_function(add: Call) -> None:
    def work(seed: int) -> bool:
        a, out = A + seed, np.empty_like(A)
        expected = a + B
        return all((add(a, B, out=out) == expected).all() for _ in range(500))

    assert all(in_threads(work, range(8)))


@pytest.mark.sampled(5)
def test_many_threads_compile() -> None:
    def work(_: int) -> None:
        for _ in range(20):
            function = NativeFunction(build(SOURCE), "add", PARAMETERS, BYTES)
            assert (function(A, B) == A + B).all()

    check_in_child(lambda: in_threads(work, range(8)), seconds=100)


def test_the_interpreter_runs_while_a_function_runs() -> None:
    # The native side waits for a flag that only another Python thread sets.
    text = """
define void @f(ptr %c) {
entry:
  br label %wait
wait:
  %x = load atomic i32, ptr %c monotonic, align 4
  %set = icmp eq i32 %x, 1
  br i1 %set, label %done, label %wait
done:
  ret void
}"""
    output = Parameter("c", np.dtype(np.int32), (1,), is_output=True)

    def wait() -> None:
        function = NativeFunction(compile_llvm(text, cpu="haswell"), "f", (output,))
        flag = np.zeros(1, np.int32)
        timer = threading.Timer(0.05, lambda: flag.fill(1))
        timer.start()
        function(out=flag)

    check_in_child(wait, seconds=20)


def test_use_after_fork(add: Call) -> None:
    add(A, B)

    def child() -> bool:
        return bool((add(A, B) == A + B).all())

    assert check_in_child(child)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    processes = [context.Process(target=lambda: queue.put(child())) for _ in range(2)]
    for process in processes:
        process.start()
    assert [queue.get(), queue.get()] == [True, True]
    for process in processes:
        process.join()
        assert process.exitcode == 0


def test_a_function_keeps_its_code() -> None:
    def child() -> bool:
        function = NativeFunction(build(SOURCE), "add", PARAMETERS, BYTES)
        gc.collect()
        # Something else would take the place of code that was freed.
        others = [compile_llvm("define void @g() { ret void }", cpu="haswell")] * 20
        return bool(others and (function(A, B) == A + B).all())

    assert check_in_child(child)


def test_a_new_output_lies_as_its_parameter_says(function: NativeFunction) -> None:
    """With its gaps where those are fixed, and without any where a call says them."""
    fixed = Parameter("c", F32, (6, 8), is_output=True, strides=(10, 1))
    assert function._new_output(fixed, []).strides == (40, 4)
    any_row = Parameter("c", F32, (6, 8), is_output=True, strides=(9, 1), any_row=9)
    assert function._new_output(any_row, []).strides == (32, 4)
    batch = Parameter(
        "c", F32, (1, 6, 8), ((6, 8),), is_output=True, strides=(60, 10, 1)
    )
    for inputs, strides in (((A, A), (40, 4)), ((A[None], A), (240, 40, 4))):
        output = function._new_output(batch, inputs)
        assert output.strides == strides
        assert output.dtype == F32

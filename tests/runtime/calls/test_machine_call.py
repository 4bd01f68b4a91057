"""Calls through machine code: fast checks, the fallback in Python, lifetimes."""

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.runtime.calls import array_layout, machine_call
from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.function import NativeFunction
from morello.runtime.calls.machine_call import checked
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import Engine, compile_llvm
from tests.child import resident
from tests.guarded import check_in_child
from tests.threads import in_threads

pytestmark = pytest.mark.quick

F32 = np.dtype(np.float32)

COPY = """
define void @copy(ptr %a, ptr %c, ptr %w) {
  %x = load i64, ptr %a
  store i64 %x, ptr %w
  %y = load i64, ptr %w
  store i64 %y, ptr %c
  ret void
}"""
"""The first 8 bytes of an input to an output, by way of a workspace."""

PARAMETERS = (
    Parameter("a", F32, (1, 1, 2), ((1, 2), (2,))),
    Parameter("c", F32, (1, 1, 2), ((1, 2), (2,)), is_output=True),
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return compile_llvm(COPY, cpu="haswell")


@pytest.fixture
def copy(engine: Engine) -> NativeFunction:
    return NativeFunction(engine, "copy", PARAMETERS, 8)


class Slow:
    """A fallback that records its arguments."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "slow"


def quick(engine: Engine, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The checked function with another fallback."""
    table = CallTable(engine.address("copy"), PARAMETERS, 8)
    return checked(table, slow)


A = np.array([3, 4], np.float32)


def other_shape(shape: tuple[int, ...]) -> Any:
    return np.zeros(shape, np.float32)


def test_fitting_arguments_do_not_go_the_slow_way(engine: Engine) -> None:
    slow = Slow()
    call = quick(engine, slow)
    for shape in PARAMETERS[0].shapes:
        for other in PARAMETERS[1].shapes:
            out = np.zeros(other, np.float32)
            assert call(A.reshape(shape), out=out) is out
            assert out.reshape(-1).tolist() == [3, 4]
            assert call(A.reshape(shape), out[...]) is not out
    read_only = A.copy()
    read_only.flags.writeable = False
    call(read_only, np.zeros_like(A))
    assert slow.calls == []


def test_rows_apart_do_not_go_the_slow_way(engine: Engine) -> None:
    """Machine code knows strides, and views in another order of the dimensions."""
    slow = Slow()
    view = ((2, 1), (1, 9))
    parameters = (
        Parameter("a", F32, (2, 2), strides=(5, 1), views=(((2, 2), (1, 5)),)),
        Parameter("c", F32, (1, 2), views=(view,), is_output=True),
    )
    table = CallTable(engine.address("copy"), parameters, 8)
    call = checked(table, slow)
    memory = np.arange(10, dtype=np.float32).reshape(2, 5)
    rows, out = memory[:, 1:3], np.zeros((1, 2), np.float32)
    for array in (rows, rows.T):
        assert call(array, out) is out
        assert out.tolist() == [[1, 2]]
        assert call(array, out.T) is not out
    assert slow.calls == []
    wrong = (
        np.zeros((2, 2), np.float32),
        np.zeros((2, 6), np.float32)[:, :2],
        np.zeros((2, 10), np.float32)[:, ::5][:, ::-1],
        memory[::-1, :2],
    )
    for array in wrong:
        assert call(array, out) == "slow"


class Own(np.ndarray[Any, Any]):
    """A class of a user."""


UNUSUAL: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "nothing": ((), {}),
    "no output": ((A,), {}),
    "out is None": ((A,), {"out": None}),
    "another name": ((A,), {"c": A.copy()}),
    "an unknown name": ((A,), {"output": A.copy()}),
    "all by name": ((), {"a": A, "out": A.copy()}),
    "too many": ((A, A.copy(), A), {}),
    "given and named": ((A, A.copy()), {"out": A.copy()}),
    "two names": ((A,), {"out": A.copy(), "c": A.copy()}),
    "a list": (([3, 4], A.copy()), {}),
    "a small object": ((A, object()), {}),
    "an own class": ((A.view(Own), A.copy()), {}),
    "a scalar": ((np.float32(3), A.copy()), {}),
    "no axes": ((np.array(3, np.float32), A.copy()), {}),
    "another dtype": ((A.astype(np.int32), A.copy()), {}),
    "other bytes": ((A.astype(">f4"), A.copy()), {}),
    "longer": ((other_shape((3,)), A.copy()), {}),
    "more axes": ((other_shape((1, 1, 1, 2)), A.copy()), {}),
    "transposed": ((other_shape((2, 1)), A.copy()), {}),
    "empty": ((other_shape((0,)), A.copy()), {}),
    "backwards": ((A[::-1], A.copy()), {}),
    "itself": ((A, A), {}),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_all_else_goes_the_slow_way(engine: Engine, case: str) -> None:
    slow = Slow()
    args, kwargs = UNUSUAL[case]
    assert quick(engine, slow)(*args, **kwargs) == "slow"
    ((positional, named),) = slow.calls
    assert len(positional) == len(args)
    assert all(one is other for one, other in zip(positional, args, strict=True))
    assert named.keys() == kwargs.keys()
    assert all(named[name] is value for name, value in kwargs.items())


@pytest.mark.parametrize("shift", range(-3, 4))
def test_arrays_that_meet(engine: Engine, shift: int) -> None:
    memory = np.zeros(8, np.float32)
    slow = Slow()
    quick(engine, slow)(memory[3:5], memory[3 + shift : 5 + shift])
    assert bool(slow.calls) == (abs(shift) < 2)


def test_an_error_of_the_slow_way_is_raised(engine: Engine) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise KeyError(len(args))

    with pytest.raises(KeyError, match="3"):
        quick(engine, refuse)(A, A, A)


def test_references_are_balanced(copy: NativeFunction) -> None:
    call, a, c = copy.checked(), A.copy(), A.copy()
    bound = copy.bind(a, c)
    out = "out"

    def counts() -> list[int]:
        return [sys.getrefcount(value) for value in (a, c, None, out, call, bound)]

    def use() -> None:
        call(a, out=c)
        call(a, c)
        call(a)
        bound()
        with pytest.raises(ValueError, match="overlaps"):
            call(a, out=a)
        with pytest.raises(ValueError, match="not a NumPy array but None"):
            call(a, None)

    def changes() -> list[int]:
        before = counts()
        for _ in range(300):
            use()
        gc.collect()
        return [abs(n - m) for n, m in zip(counts(), before, strict=True)]

    use()
    gc.collect()
    # A leak shows in each round; other code's references to None come in some.
    rounds = [changes() for _ in range(4)]
    assert all(min(each) < 50 for each in zip(*rounds, strict=True)), rounds


def test_a_bound_function_runs_on_its_arrays(copy: NativeFunction) -> None:
    a, c = A.copy(), np.zeros(2, np.float32)
    for bound in (copy.bind(a, c), copy.bind(a, out=c), copy.bind(c=c, a=a)):
        a += 1
        assert bound() is c
        assert (c == a).all()
    new = copy.bind(a)
    assert new() is new()
    assert (new() == a).all()
    with pytest.raises(TypeError, match="takes no arguments"):
        new(a)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="output 'c' overlaps input 'a'"):
        copy.bind(a, a)


def test_a_bound_function_keeps_its_arrays_and_its_code() -> None:
    function = NativeFunction(compile_llvm(COPY, cpu="haswell"), "copy", PARAMETERS, 8)
    a, c = A.copy(), A.copy()
    gone = [weakref.ref(value) for value in (a, c, function)]
    bound = function.bind(a, c)
    del a, c, function
    gc.collect()
    assert bound().tolist() == [3, 4]
    del bound
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3


def test_a_checked_function_keeps_its_code_and_no_cycle() -> None:
    gc.disable()
    try:
        function = NativeFunction(
            compile_llvm(COPY, cpu="haswell"), "copy", PARAMETERS, 8
        )
        gone = weakref.ref(function)
        call = function.checked()
        del function
        assert call(A, A.copy()).tolist() == [3, 4]
        del call
        assert gone() is None
    finally:
        gc.enable()


def test_a_cycle_through_a_checked_function_is_collected(engine: Engine) -> None:
    slow = Slow()
    slow.calls.append(quick(engine, slow))
    gone = weakref.ref(slow)
    del slow
    gc.collect()
    assert gone() is None


def test_workspaces_are_freed() -> None:
    # A workspace of 4 MiB, all of which is written.
    text = """
define void @f(ptr %c, ptr %w) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %w, i64 %i
  store i8 1, ptr %p
  %next = add i64 %i, 4096
  %more = icmp ult i64 %next, 4194304
  br i1 %more, label %loop, label %done
done:
  ret void
}"""
    output = Parameter("c", F32, (1,), is_output=True)

    def child() -> int:
        engine = compile_llvm(text, cpu="haswell")
        c = np.zeros(1, np.float32)
        for i in range(60):
            function = NativeFunction(engine, "f", (output,), 4 << 20)
            function.checked()(out=c)
            if i == 10:
                before = resident()
        return resident() - before

    assert check_in_child(child) < 16 << 20


def test_threads_share_a_bound_function(copy: NativeFunction) -> None:
    bound = copy.bind(A, np.zeros_like(A))

    def work(_: int) -> bool:
        return all(bound().tolist() == [3, 4] for _ in range(2000))

    assert all(in_threads(work, range(8)))


def test_the_layout_of_arrays_is_known() -> None:
    assert array_layout.is_known()
    for array in (A, A[:1], np.zeros((2, 0, 3)), np.zeros(()), A.astype(">f4")):
        assert array_layout._agrees(array)


def test_python_checks_where_the_layout_is_unknown(
    monkeypatch: pytest.MonkeyPatch, copy: NativeFunction
) -> None:
    monkeypatch.setattr(array_layout, "is_known", lambda: False)
    assert copy.checked() is copy
    assert copy.bind(A, A.copy())().tolist() == [3, 4]


def test_python_checks_several_outputs(engine: Engine) -> None:
    outputs = tuple(Parameter(n, F32, (2,), is_output=True) for n in "ac")
    function = NativeFunction(engine, "copy", outputs, 8)
    assert function.checked() is function
    first, second = function.bind()()
    assert first.tobytes() == second.tobytes()


def test_another_layout_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TYPE", "DATA", "RANK", "DTYPE", "FLAGS"):
        with monkeypatch.context() as patch:
            patch.setattr(array_layout, name, array_layout.HEADER + 32)
            assert not array_layout._agrees(A), name


def digits(count: int, has_workspace: bool) -> NativeFunction:
    """A function that writes its inputs' first elements as digits, left to right."""
    inputs = count - 1
    steps = "".join(
        f"  %x{i} = load i64, ptr %a{i}\n"
        f"  %t{i} = mul i64 {f'%s{i - 1}' if i else 0}, 10\n"
        f"  %s{i} = add i64 %t{i}, %x{i}\n"
        for i in range(inputs)
    )
    result = f"%s{inputs - 1}" if inputs else "7"
    if has_workspace:
        steps += f"  store i64 {result}, ptr %w\n  %r = load i64, ptr %w\n"
        result = "%r"
    taken = [f"ptr %a{i}" for i in range(count)] + ["ptr %w"] * has_workspace
    text = (
        f"define void @f({', '.join(taken)}) {{\n{steps}"
        f"  store i64 {result}, ptr %a{inputs}\n  ret void\n}}"
    )
    kind = np.dtype(np.int64)
    parameters = tuple(
        Parameter(f"a{i}", kind, (1,), is_output=i == inputs) for i in range(count)
    )
    engine = compile_llvm(text, cpu="haswell")
    return NativeFunction(engine, "f", parameters, 8 * has_workspace)


@pytest.mark.parametrize("has_workspace", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 12])
def test_each_array_is_given_in_its_place(count: int, has_workspace: bool) -> None:
    """Some arguments are passed by the C code, more by code for their number."""
    function = digits(count, has_workspace)
    inputs = [np.array([i % 9 + 1]) for i in range(count - 1)]
    wanted = int("".join(str(int(each[0])) for each in inputs) or 7)
    addresses = machine_call.on_addresses(function._table)
    out = np.zeros(1, np.int64)
    places = [int(each.ctypes.data) for each in (*inputs, out)]
    for call in (
        lambda: function.checked()(*inputs, out),
        lambda: function.bind(*inputs, out)(),
        lambda: function(*inputs, out),
        lambda: addresses(*places),
    ):
        out[0] = 0
        call()
        assert out[0] == wanted

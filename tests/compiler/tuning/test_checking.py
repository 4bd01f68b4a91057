"""Candidates that are compiled and checked in the time that there is."""

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.compiler.candidates import Candidate
from morello.compiler.kernel import Kernel
from morello.compiler.tuning import checking
from morello.compiler.tuning.checking import Deadlines, checked_kernels
from morello.compiler.tuning.contest import likely_seconds
from morello.compiler.tuning.trial import Trial
from morello.compiler.tuning.verify import judge
from morello.machine import AVX2
from morello.spec import parse_spec
from tests.threads import Here


class Clock:
    """A clock that goes on when somebody takes time."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def candidates() -> tuple[Candidate, ...]:
    return morello.candidates("matmul:4x8x16:f32", 5, target="avx2")


def _tried(
    monkeypatch: pytest.MonkeyPatch,
    candidates: tuple[Candidate, ...],
    llvm: float,
    call: float = 0.0,
    deadlines: Deadlines = Deadlines(4.5, 3.5),  # noqa: B008 -- it is frozen
) -> tuple[int, float]:
    """How many were tried of five seconds, where passes take 0.1 s, and LLVM and a call
    as long as is said; and when it was over."""
    clock = Clock()

    def slow(one: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def taking(*args: Any, **named: Any) -> Any:
            clock.now += seconds
            return one(*args, **named)

        return taking

    monkeypatch.setattr(checking, "time", clock)
    monkeypatch.setattr(checking, "ThreadPoolExecutor", Here)
    monkeypatch.setattr(checking, "_stages", slow(checking._stages, 0.1))
    monkeypatch.setattr(checking, "compile_llvm", slow(checking.compile_llvm, llvm))
    monkeypatch.setattr(Kernel, "__call__", slow(Kernel.__call__, call))
    trial = Trial.make(candidates[0].spec, 0, {})
    right, tried = checked_kernels(candidates, trial, deadlines)
    assert right[0].candidate is candidates[0]
    return tried, clock.now


def test_where_no_thread_can_be_made_candidates_are_checked_all_the_same(
    monkeypatch: pytest.MonkeyPatch, candidates: tuple[Candidate, ...]
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    right, tried = checked_kernels(
        candidates[:2], Trial.make(candidates[0].spec, 0, {})
    )
    assert tried == 2
    assert right[0].candidate is candidates[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("llvm", "tried"), [(0.01, 5), (0.7, 4), (1.0, 3), (2.0, 2), (2.3, 1), (9.0, 1)]
)
def test_none_but_the_first_is_begun_that_would_be_late(
    monkeypatch: pytest.MonkeyPatch,
    candidates: tuple[Candidate, ...],
    llvm: float,
    tried: int,
) -> None:
    number, end = _tried(monkeypatch, candidates, llvm)
    assert number == tried
    assert end <= max(4.5, llvm + 0.1 + 1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("call", "tried"), [(0.0, 4), (0.01, 3)])
def test_few_programs_leave_time_that_timing_them_does_not_take(
    monkeypatch: pytest.MonkeyPatch,
    candidates: tuple[Candidate, ...],
    call: float,
    tried: int,
) -> None:
    """Four of 1.1 s fit before a contest of 0.6 s; three, if a call is a long one."""
    deadlines = Deadlines(4.5, 3.5, end=5.1)
    number, end = _tried(monkeypatch, candidates, 1.0, call, deadlines)
    assert number == tried
    assert end <= max(3.5, 5.1 - likely_seconds(tried, call))


def test_a_call_that_is_predicted_to_take_too_long_is_not_made(
    monkeypatch: pytest.MonkeyPatch, candidates: tuple[Candidate, ...]
) -> None:
    slow = dataclasses.replace(candidates[1].impl, cost=100 * candidates[0].cost)
    candidates = (
        candidates[0],
        dataclasses.replace(candidates[1], impl=slow),
        *candidates[2:3],
    )
    monkeypatch.setattr(Candidate, "cost", property(lambda one: one.impl.cost))
    number, end = _tried(monkeypatch, candidates, 0.01, call=0.1)
    assert number == 2
    assert end < 3.5


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "softmax:5x33:f32",
        "matmul:9x300x7:f32",
        "matmul:9x30x7:u8,s8,s32",
        "matmul:9x300x7:bf16,bf16,f32",
        "max:7x33:f32",
        "conv:2x5x6x3x3x3x3",
        "move:7x9:f32",
        "compose:7x9:f32:graph=out a[m]=sum(x[m,n]);out b[m]=max(x[m,n])",
    ],
)
def test_the_definition_that_is_kept_decides_as_the_judge(text: str) -> None:
    kernel = morello.compile(text, target="avx2{relayouts=0}", threads=1)
    trial = Trial.make(parse_spec(text, kernel.target.limits), 0, {})
    right = trial.run(kernel)
    assert trial.definition.holds(trial.outputs(right))
    out = trial.spec.kind.written[-1]
    for wrong in (np.nan, 1e3, -7):
        changed = [array.copy() for array in right]
        flat = changed[out].reshape(-1)
        with np.errstate(invalid="ignore"):
            flat[3:4] = np.asarray([wrong]).astype(flat.dtype)
        got = trial.outputs(changed)
        verdict = judge(trial.spec, trial.inputs, got, trial.exact)
        assert trial.definition.holds(got) == verdict.holds
        assert trial.is_right(changed) == verdict.holds


def test_an_output_that_nothing_writes_is_wrong_even_if_zeros_are_right() -> None:
    spec = parse_spec("matmul:4x8x16:f32", AVX2.limits)
    zeros = np.zeros((1, 4, 8), np.float32)
    trial = Trial.make(spec, 0, {0: zeros})
    arguments = trial.arguments()
    assert not trial.is_right(arguments)
    assert not trial.judge(arguments).holds
    arguments[2][...] = 0
    assert trial.is_right(arguments)
    assert trial.judge(arguments).holds


def test_sums_of_given_inputs_may_be_rounded_otherwise() -> None:
    """Those of random ones are exact where they are short: no bit may differ."""
    spec = parse_spec("matmul:2x3x2:f32", AVX2.limits)
    lhs = np.array([[[0.1, 0.2, 0.3], [0.7, -1.1, 1.3]]], np.float32)
    for inputs in ({}, {0: lhs}):
        trial = Trial.make(spec, 0, inputs)
        arguments = trial.arguments()
        arguments[2][...] = spec.outputs(*trial.inputs)[0]
        assert trial.is_right(arguments)
        arguments[2][...] = np.nextafter(arguments[2], np.float32(9))
        assert trial.is_right(arguments) == bool(inputs)
        assert trial.judge(arguments).holds == bool(inputs)
        arguments[2][...] += np.float32(1e-3)
        assert not trial.is_right(arguments)
        assert not trial.judge(arguments).holds


@pytest.mark.parametrize(
    ("text", "keeps_bits"),
    [
        ("move:2x4:f32", True),
        ("move:2x4:f32:dst=[1,0]", True),
        ("relu:2x4:f32", False),
        ("max:2x4:f32", False),
    ],
)
def test_a_copy_keeps_the_bits_of_nans_and_nothing_else_has_to(
    text: str, keeps_bits: bool
) -> None:
    spec = parse_spec(text, AVX2.limits)
    x = np.full((2, 4), np.nan, np.float32)
    (right,) = spec.outputs(x)
    other = right.copy().view(f"u{right.itemsize}")
    other.reshape(-1)[0] ^= 1  # another NaN
    assert np.isnan(other.view(right.dtype).astype(np.float32)).all()
    for exact in (True, False):
        assert judge(spec, (x,), right, exact).is_exact
        got = judge(spec, (x,), other.view(right.dtype), exact)
        assert got.is_exact != keeps_bits
        assert got.differing == keeps_bits


def test_a_verdict_counts_what_differs_and_names_the_worst() -> None:
    """Of two outputs, sums of ones: 3 and, of squares, 3; one bit of 3 is 2^-22."""
    text = "compose:2x3:f32:graph=out a[m]=sum(x[m,n]);out b[m]=sum(x*x)"
    spec, ones = parse_spec(text, AVX2.limits), np.ones((2, 3), np.float32)
    three = np.full(2, 3, np.float32)
    near, far = three.copy(), three.copy()
    near[1] += 2**-22
    far[0], far[1] = 3 + 2**-22, 4
    exact = judge(spec, (ones,), (three, three), exact=False)
    assert str(exact) == "exact: all 4 elements are the definition's, bit for bit"
    for outputs, count in (((near, three), 1), ((three, near), 1), ((near, near), 2)):
        verdict = judge(spec, (ones,), outputs, exact=False)
        assert verdict.holds
        assert (verdict.elements, verdict.differing) == (4, count)
        assert verdict.max_error == 2**-22
        assert verdict.of_bound is not None
        assert 0 < verdict.of_bound <= 1
        assert not judge(spec, (ones,), outputs, exact=True).holds
    verdict = judge(spec, (ones,), (near, far), exact=False)
    assert not verdict.holds
    assert (verdict.elements, verdict.differing, verdict.max_error) == (2, 2, 1.0)
    assert str(verdict).startswith("max error 1 against the definition in f64, ")
    assert str(verdict).endswith("[1] is 4.0, the definition has 3.0")


def test_an_infinity_of_the_definition_is_right_though_f64_has_a_number() -> None:
    spec = parse_spec("compose:2x3:f32:graph=y[m]=sum(exp(x[m,n]))", AVX2.limits)
    x = np.array([[100, 1, 1], [1, 1, 1]], np.float32)
    (right,) = spec.outputs(x)
    assert right[0] == np.inf
    near = np.array([np.inf, np.nextafter(right[1], np.float32(0))], np.float32)
    assert judge(spec, (x,), near, exact=False).holds
    for first in (np.float32(1e38), -np.inf, np.nan):
        wrong = np.array([first, near[1]], np.float32)
        assert not judge(spec, (x,), wrong, exact=False).holds

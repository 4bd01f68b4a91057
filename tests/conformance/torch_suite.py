"""PyTorch's samples of ops through `torch.compile(backend="morello")`, against eager.

What no group takes runs in eager: only samples that groups compute wholly pass "in
groups".
"""

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

import morello.torch  # noqa: F401 (the backend)
from tests.conformance.outcomes import (
    PASSED,
    REFUSED,
    SKIPPED,
    Outcome,
    Row,
    outcome_of,
)
from tests.conformance.suite import Settings
from tests.conformance.torch_samples import (
    called,
    cast,
    is_rare,
    ops,
    samples_of,
    shown,
    tensors,
)

_WIDE = torch.float64
_EAGER = ("no group takes", "stays eager", "stay eager", "divided")
"""Words of the backend's log about what groups do not compute."""


def create(settings: Settings) -> "TorchSuite":
    """The suite of PyTorch."""
    return TorchSuite(settings)


class TorchSuite:
    """Ops with some samples each: a row for each sample, named OP#PLACE."""

    attempts = ("in groups", "with eager")

    def __init__(self, settings: Settings) -> None:
        warnings.simplefilter("ignore")  # of PyTorch, about deprecated arguments
        torch.set_num_threads(1)
        self._settings = settings
        self._dtype = getattr(torch, settings.dtype)
        self._ops = ops(self._dtype)
        self._log = _Log()

    def kinds(self) -> dict[str, str]:
        """Each op is of its own kind."""
        return {name: name for name in self._ops}

    def prepare(self, names: Sequence[str]) -> None:
        """Compile a function of two ops."""
        self._compiled(lambda x: x.relu() + 1)(torch.ones(3, 4, dtype=self._dtype))

    def rows(self, name: str) -> list[Row]:
        """The outcomes of some samples of an op."""
        op, rows = self._ops[name], list[Row]()
        samples = samples_of(op, self._dtype, self._settings.samples)
        for place, sample in samples.items():
            start = time.monotonic()
            outcomes = self._outcomes(op, sample)
            row = Row(f"{name}#{place}", outcomes, details={"sample": shown(sample)})
            row.groups = _groups(name)
            row.seconds = time.monotonic() - start
            rows.append(row)
        return rows

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        limit = self._settings.time_limit
        options = {"wait": True, "threads": 1, "time_limit": limit}
        return torch.compile(
            function, backend="morello", options=options, dynamic=False
        )

    def _outcomes(self, op: OpInfo, sample: SampleInput) -> dict[str, Outcome]:
        groups, eager = self.attempts
        outcome, left = self._outcome(called(op, self._settings.between), sample)
        if outcome.verdict != PASSED or not left:
            return {groups: outcome}
        return {groups: Outcome(REFUSED, left), eager: outcome}

    def _outcome(
        self, function: Callable[..., Any], sample: SampleInput
    ) -> tuple[Outcome, str]:
        """The outcome of a sample, and what was left to eager."""
        torch._dynamo.reset()
        self._log.lines.clear()
        arguments = (sample.input, sample.args, sample.kwargs)
        try:
            expected = tensors(function(*cast(arguments, self._dtype, self._dtype)))
        except Exception as error:  # noqa: BLE001 (the reference is what fails)
            return Outcome(SKIPPED, f"eager: {error}"), ""
        exact = self._exact(function, arguments, len(expected))
        try:
            with torch.no_grad():
                copied = cast(arguments, self._dtype, self._dtype)
                results = tensors(self._compiled(function)(*copied))
        except Exception as error:  # noqa: BLE001 (whatever is raised is an outcome)
            return _raised(error), ""
        if len(results) != len(expected):
            return Outcome("wrong", f"{len(results)} results, not {len(expected)}"), ""
        judged = map(_judged, results, expected, exact)
        return _worst(list(judged)), self._log.left()

    def _exact(
        self, function: Callable[..., Any], arguments: Any, count: int
    ) -> Sequence[torch.Tensor | None]:
        """Results in f64, where there are some."""
        try:
            results = tensors(function(*cast(arguments, self._dtype, _WIDE)))
        except Exception:  # noqa: BLE001 (an op need not take f64)
            return [None] * count
        return results if len(results) == count else [None] * count


def _groups(name: str) -> tuple[str, ...]:
    if name.startswith("nn.functional"):
        return ("ops of models", "ops of models: nn.functional")
    return ("seldom in models",) if is_rare(name) else ("ops of models",)


class _Log(logging.Handler):
    """What the backend says about groups."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = list[str]()
        log = logging.getLogger("morello.torch")
        log.setLevel(logging.INFO)
        log.propagate = False
        log.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Add one message."""
        self.lines.append(" ".join(record.getMessage().split()))

    def left(self) -> str:
        """What no group computes; empty if groups compute everything."""
        left = [line for line in self.lines if any(words in line for words in _EAGER)]
        if any(line.startswith("compiled a group") for line in self.lines):
            return "in part: " + " | ".join(left) if left else ""
        return "none: " + " | ".join(left)


def _raised(error: BaseException) -> Outcome:
    """The outcome of an error; what Dynamo does not take is skipped."""
    inner = error
    while inner.__cause__ is not None:
        inner = inner.__cause__
    outcome = outcome_of(inner)
    names = type(error).__name__ + type(inner).__name__
    if "Unsupported" in names and "morello" not in outcome.note:
        return Outcome(SKIPPED, f"Dynamo: {outcome.note}")
    return outcome


def _worst(outcomes: list[Outcome]) -> Outcome:
    wrong = any(outcome.verdict != PASSED for outcome in outcomes)
    notes = "; ".join(outcome.note for outcome in outcomes if outcome.note)
    return Outcome("wrong" if wrong else PASSED, notes)


def _judged(
    result: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor | None
) -> Outcome:
    """Whether a result is eager's to the tolerance of `torch.testing`, or nearly as
    near to f64."""
    kinds = [f"{t.dtype}{tuple(t.shape)}" for t in (result, expected)]
    if kinds[0] != kinds[1]:
        return Outcome("wrong", f"{kinds[0]}, not {kinds[1]}")
    try:
        torch.testing.assert_close(result, expected, equal_nan=True, check_stride=False)
    except AssertionError as error:
        close = exact is not None and exact.shape == expected.shape
        if close and _is_rounding(result, expected, exact):
            return Outcome(PASSED, "rounding: nearly as near to f64 as eager")
        return Outcome("wrong", " ".join(str(error).split()))
    return Outcome(PASSED, _strides(result, expected))


def _is_rounding(
    result: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor | None
) -> bool:
    """Whether all that is special is the same, and the largest distance from f64 is at
    most four times eager's, or what the dtype rounds."""
    if exact is None or not expected.dtype.is_floating_point:
        return False
    ours, theirs = result.double(), expected.double()
    special = ~torch.isfinite(theirs) | ~torch.isfinite(ours)
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    if bool((special & ~same).any()):
        return False
    near, eager = (
        (t - exact.double()).abs().nan_to_num().max() for t in (ours, theirs)
    )
    size = exact.double().abs().nan_to_num(posinf=0).max()
    rounds = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}
    limit = rounds.get(expected.dtype, 1e-5) * size
    return bool(near <= 4 * eager + 1e-7 * size or near <= limit)


def _strides(result: torch.Tensor, expected: torch.Tensor) -> str:
    """A note where strides are not eager's."""
    same = result.layout != torch.strided or result.stride() == expected.stride()
    if same or result.numel() <= 1:
        return ""
    return f"strides {result.stride()}, not {expected.stride()}"

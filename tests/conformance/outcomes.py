"""Outcomes of tests: a class, and a note that says why."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np

import morello

PASSED = "passed"
REFUSED = "refused"
NO_TIME = "no time"  # the search ended at its limit, which the command sets
SKIPPED = "skipped"  # the suite's own reference does not take the test
FAULTS = ("wrong", "crashed", "hung", "traceback")
CLASSES = (PASSED, REFUSED, NO_TIME, *FAULTS)


@dataclass(frozen=True)
class Outcome:
    """The class of one attempt, and why it is not another."""

    verdict: str
    note: str = ""


@dataclass
class Row:
    """One test: its outcomes by attempt, in the order in which they were tried."""

    test: str
    outcomes: dict[str, Outcome]
    groups: tuple[str, ...] = ()  # parts of the suite whose rates count the test
    details: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """The class of the whole test: a fault of any attempt, else the last one."""
        verdicts = [outcome.verdict for outcome in self.outcomes.values()]
        return next((v for v in verdicts if v in FAULTS), verdicts[-1])

    def passed(self, attempts: Sequence[str]) -> bool:
        """Whether one of some attempts passed."""
        return any(
            attempt in attempts and outcome.verdict == PASSED
            for attempt, outcome in self.outcomes.items()
        )


def outcome_of(error: BaseException) -> Outcome:
    """The class of an exception: Morello's own errors refuse, others are faults."""
    note = f"{type(error).__name__}: {error}"
    if isinstance(error, morello.MorelloError):
        return Outcome(NO_TIME if " was found in " in note else REFUSED, note)
    frames = traceback.extract_tb(error.__traceback__)
    inner = [frame for frame in frames if "morello" in frame.filename] or frames
    if inner:
        note += f" [{Path(inner[-1].filename).name}:{inner[-1].lineno}]"
    return Outcome("traceback", note)


def checked_call(
    compiled: Callable[[], Callable[..., object]],
    arguments: Sequence[object],
    expected: Sequence[np.ndarray],
    difference: Callable[[np.ndarray, np.ndarray], str],
) -> Outcome:
    """The outcome of compiling a program, of calling it, and of comparing results."""
    try:
        results = compiled()(*arguments)
    except Exception as error:  # noqa: BLE001 (whatever is raised is an outcome)
        return outcome_of(error)
    several = isinstance(results, (tuple, list))
    return compared(list(results) if several else [results], expected, difference)


def compared(
    results: Sequence[object],
    expected: Sequence[np.ndarray],
    difference: Callable[[np.ndarray, np.ndarray], str],
) -> Outcome:
    """Whether results are as expected: their number, shapes, dtypes and elements."""
    if len(results) != len(expected):
        return Outcome("wrong", f"{len(results)} results, not {len(expected)}")
    pairs = zip(results, expected, strict=True)
    notes = [difference(np.asarray(r), np.asarray(e)) for r, e in pairs]
    text = "; ".join(f"{place}: {note}" for place, note in enumerate(notes) if note)
    return Outcome("wrong" if text else PASSED, text)


def difference(
    result: np.ndarray, expected: np.ndarray, rtol: float, atol: float
) -> str:
    """What differs, or an empty text: shape, dtype, or elements beyond a tolerance of
    which NaN is near NaN alone. Integers and booleans must be equal.

    Elements of floats of 16 bits may differ by twice the distance of 1 to the next
    number, where the tolerance is less: ours have fewer roundings on the way.
    """
    if result.shape != expected.shape:
        return f"shape {result.shape}, not {expected.shape}"
    if result.dtype != expected.dtype:
        return f"dtype {result.dtype}, not {expected.dtype}"
    if expected.dtype.kind in "OSUbiu":
        bad = result != expected
    else:
        if expected.dtype.itemsize == 2:
            rtol = max(rtol, 2 * float(ml_dtypes.finfo(expected.dtype).eps))
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        result, expected = result.astype(wide), expected.astype(wide)
        bad = ~np.isclose(result, expected, rtol, atol, equal_nan=True)
    if not bad.any():
        return ""
    first = tuple(int(place) for place in np.argwhere(bad)[0])
    return (
        f"{int(bad.sum())} of {bad.size} elements are off; at {first} "
        f"{result[first]}, not {expected[first]}"
    )


def within_rounding(result: np.ndarray, expected: np.ndarray) -> str:
    """What differs by more than sums in f32 round: 2e-4 of an element, and 1e-5 of the
    largest finite one, or of 100 if that is less."""
    if expected.dtype.kind != "f":
        return difference(result, expected, 2e-4, 1e-5)
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64))
    size = min(float(finite.max(initial=0)), 100.0)
    return difference(result, expected, 2e-4, 1e-5 * max(1.0, size))

"""One case: every contender loaded, checked, sampled in turns, and checked again."""

import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness.case import Case, Data
from benchmarks.harness.process import ContenderError
from benchmarks.harness.results import (
    Entry,
    Roof,
    Row,
    arithmetic_roof,
    limit_roof,
    mark_above_roof,
)
from benchmarks.harness.rounds import interleave
from benchmarks.harness.worker import save_data

_ROOF = "roof: "
"""The beginning of the name of a roof among those that take turns."""

_LOAD_SECONDS = 1800.0
"""Longest time in which a contender gets ready: it may have to search first."""


class Talker(Protocol):
    """The other end of a worker."""

    def ask(self, request: dict[str, Any], timeout: float = ...) -> dict[str, Any]:
        """Send a request and wait for the answer."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long to measure.

    Args:
        seconds: of rounds for each case.
        sample: seconds of back-to-back calls in a sample, at least.
        least: rounds, at least.
        loads: how often everybody is loaded anew: where operands and code happen to lie
            in memory makes a difference of a percent.
        priority: whether contenders are sampled before all else that runs, where the
            system allows it.
    """

    seconds: float = 4.0
    sample: float = 4e-3
    least: int = 6
    loads: int = 2
    priority: bool = False


class Field:
    """The contenders that are there, with processes that may end.

    Args:
        talkers: by name.
        roofs: the process that measures the roofs on as many threads.
        plan: how long to measure.
        beyond: bytes that the caches hold; more are compared with DRAM too.
    """

    def __init__(
        self,
        talkers: Mapping[str, Talker],
        roofs: Talker,
        threads: int,
        plan: Plan,
        beyond: int = 1 << 40,
    ) -> None:
        self._talkers = dict(talkers)
        self._roofs = roofs
        self._threads = threads
        self._plan = plan
        self._beyond = beyond

    def measure(self, case: Case, origin: dict[str, str]) -> Row:
        """Measure a case; whoever fails at it is out of the rounds, not an error."""
        before = os.getloadavg()[0]
        rates: dict[str, float] = {}
        entries: dict[str, Entry] = {}
        with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
            save_data(Data.make(case), Path(folder))
            for _ in range(self._plan.loads):
                row = self._rounds(case, folder, rates)
                entries = {n: joined(entries.get(n), e) for n, e in row.items()}
        roof = Roof(
            arithmetic_roof(case),
            rates[arithmetic_roof(case)],
            rates[limit_roof(case)],
            rates["read"],
            rates.get("dram", 0.0),
        )
        marked = mark_above_roof(list(entries.values()), case.flops, roof)
        load = (round(before, 2), round(os.getloadavg()[0], 2))
        return Row(
            case.text,
            self._threads,
            case.flops,
            case.bytes,
            roof,
            tuple(marked),
            load,
            origin,
        )

    def _rounds(
        self, case: Case, folder: str, rates: dict[str, float]
    ) -> dict[str, Entry]:
        """Everybody loaded once, and sampled in turns."""
        plan = self._plan
        entries = {n: self._load(n, case, folder) for n in self._talkers}
        samplers: dict[str, Callable[[], float]] = self._roof_samplers(case, rates)
        for entry in entries.values():
            if entry.status == "ok":
                samplers[entry.name] = partial(self._sample, entries, entry.name)
        seconds, least = plan.seconds / plan.loads, -(-plan.least // plan.loads)
        samples = interleave(samplers, seconds, least)
        least_times = _least_times(case, samples)
        for name, entry in entries.items():
            if entry.status == "ok":
                taken = tuple(samples[name])
                parts = tuple(a / b for a, b in zip(least_times, taken, strict=True))
                sampled = dataclasses.replace(entry, samples=taken, fractions=parts)
                entries[name] = self._checked(sampled)
        return entries

    def _load(self, name: str, case: Case, folder: str) -> Entry:
        entry = load(name, self._talkers[name], case, Path(folder))
        return self._failed(name, entry.detail) if entry.status == "failed" else entry

    def _sample(self, entries: dict[str, Entry], name: str) -> float:
        entry = entries[name]
        if entry.status != "ok":
            return float("inf")
        try:
            request: dict[str, Any] = {"do": "sample", "seconds": self._plan.sample}
            request["priority"] = self._plan.priority
            answer = self._talkers[name].ask(request)
        except ContenderError as error:
            entries[name] = self._failed(name, str(error))
            return float("inf")
        entries[name] = dataclasses.replace(entry, calls=int(answer["calls"]))
        return float(answer["s"])

    def _checked(self, entry: Entry) -> Entry:
        """The entry, or that its output has changed in the end."""
        try:
            wrong = self._talkers[entry.name].ask({"do": "check"})["wrong"]
        except ContenderError as error:
            return self._failed(entry.name, str(error))
        if wrong:
            return Entry(entry.name, "wrong", f"after many calls: {wrong}")
        return entry

    def _failed(self, name: str, why: str) -> Entry:
        sys.stderr.write(f"benchmarks: {name} is out: {why}\n")
        return Entry(name, "failed", why)

    def _roof_samplers(
        self, case: Case, rates: dict[str, float]
    ) -> dict[str, Callable[[], float]]:
        """Roofs take turns with contenders: a sample is a mean, as theirs are; the best
        of each ends in ``rates``."""
        seconds = {"seconds": self._plan.sample, "priority": self._plan.priority}
        requests: dict[str, dict[str, Any]] = {
            loop: {"do": "arithmetic", "name": loop, **seconds}
            for loop in {arithmetic_roof(case), limit_roof(case)}
        }
        requests["read"] = {"do": "read", "bytes": case.bytes, **seconds}
        if case.bytes > self._beyond:
            far = 4 * self._beyond * self._threads
            requests["dram"] = {"do": "read", "bytes": far, **seconds}

        def sampler(key: str, request: dict[str, Any]) -> float:
            answer = self._roofs.ask(request)
            rates[key] = max(float(answer["rate"]), rates.get(key, 0.0))
            return float(answer["mean"])

        return {
            _ROOF + key: partial(sampler, key, request)
            for key, request in requests.items()
        }


def load(name: str, talker: Talker, case: Case, folder: Path) -> Entry:
    """Get a contender ready, and see whether its result is right."""
    request = {"do": "load", "folder": str(folder), "case": case.text}
    try:
        answer = talker.ask(request, _LOAD_SECONDS)
    except ContenderError as error:
        return Entry(name, "failed", str(error))
    for status in ("unsupported", "missing", "wrong"):
        if answer.get(status):
            return Entry(name, status, answer[status])
    other = "" if answer["out_dtype"] == case.dtypes[2] else answer["out_dtype"]
    return Entry(
        name, "ok", answer["note"], in_python=answer["in_python"], out_dtype=other
    )


def joined(old: Entry | None, new: Entry) -> Entry:
    """Combine the results of two loads; who has failed once has failed."""
    if old is None or new.status != "ok":
        return new
    if old.status != "ok":
        return old
    return dataclasses.replace(
        new, samples=old.samples + new.samples, fractions=old.fractions + new.fractions
    )


def _least_times(case: Case, samples: Mapping[str, list[float]]) -> list[float]:
    """The least time by the roof of each round."""
    rates = (samples[_ROOF + name] for name in (arithmetic_roof(case), "read"))
    return [
        Roof("", arithmetic, arithmetic, read).seconds(case.flops, case.bytes)
        for arithmetic, read in zip(*rates, strict=True)
    ]


def load_alone(name: str, talker: Talker, case: Case) -> Entry:
    """Get one contender ready, and no other."""
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        save_data(Data.make(case), Path(folder))
        return load(name, talker, case, Path(folder))


def _fast_folder() -> str | None:
    """Memory as a folder, where there is such a thing."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None

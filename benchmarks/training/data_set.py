"""Programs and their times, in a file: a line of JSON for each Spec.

A line is written when its Spec is done, so that a run that was stopped goes on from
there. Programs are written as decisions: what a model reads of them is found anew, so
that a data set outlives features and costs. What another version of the search has made
is read if it is asked for: programs that do not apply any more are left out.
"""

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from morello.errors import MorelloError
from morello.machine import Target
from morello.search import Impl
from morello.search.queries.partial_program import Partial, complete
from morello.search.storage.cache_key import space
from morello.search.storage.strangers import bounded_json
from morello.spec import Spec, parse_spec

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Timed:
    """A program that was timed."""

    program: str
    """The decisions, written by `morello.search.queries.partial_program`."""
    features: tuple[str, ...]
    """The class of the program."""
    seconds: float
    """Seconds of a call: the mean over placements of the best sample."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """Programs of one Spec that were timed on one machine."""

    spec: str
    target: str
    """The name of the target."""
    cpu: str
    """The processor, as `morello.machine.host.processor_name` has it."""
    cycle: float
    """Seconds of a cycle meanwhile."""
    programs: tuple[Timed, ...]
    """The model's choice first."""
    space: str = dataclasses.field(default_factory=space)
    """The version of the space that the programs are of."""

    def line(self) -> str:
        """The entry as `entries` reads it."""
        return json.dumps({"format": _FORMAT, **dataclasses.asdict(self)}) + "\n"


def entries(path: Path, *, older: bool = False) -> Iterator[Entry]:
    """Read the entries of this version of the search; nothing if there is no file.

    A last line that was cut short is left out.

    Args:
        older: what other versions have made, too.

    Raises:
        MorelloError: it is no data set.
    """
    if not path.exists():
        return
    lines = path.read_text(errors="replace").splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            continue
        try:
            entry = _entry(bounded_json(line))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise MorelloError(
                f"{path}:{number} is no line of a data set: {error}",
                "give a file that 'python -m benchmarks.training collect' wrote",
            ) from error
        if older or entry.space == space():
            yield entry


def _entry(data: Any) -> Entry:
    if not isinstance(data, dict) or data.pop("format", None) != _FORMAT:
        raise ValueError("another version wrote it")
    timed = tuple(
        Timed(one["program"], tuple(one["features"]), _seconds(one["seconds"]))
        for one in data.pop("programs")
    )
    entry = Entry(programs=timed, **{**data, "cycle": _seconds(data["cycle"])})
    texts = (entry.spec, entry.target, entry.cpu, entry.space)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a name is no text")
    return entry


def _seconds(value: object) -> float:
    """A time of which there is a logarithm."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:  # type: ignore[operator]
        raise ValueError(f"{value!r} is no time")
    return float(value)  # type: ignore[arg-type]


def append(path: Path, entry: Entry) -> None:
    """Add an entry, on a line of its own also where the last one was cut short."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        end = file.seek(0, 2)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                content = path.read_bytes()
                file.truncate(content.rfind(b"\n") + 1)
        file.write(entry.line().encode())


def programs(entry: Entry, target: Target) -> list[tuple[Impl, Timed]]:
    """The programs of an entry that fit a target, priced for it.

    Raises:
        SpecError: the Spec is refused.
    """
    goal: Spec = parse_spec(entry.spec, target.limits)
    pairs = []
    for one in entry.programs:
        try:
            impl = complete(Partial.parse(one.program), goal, target.at(goal), _refuse)
        except (MorelloError, RecursionError, OverflowError):
            continue
        pairs.append((impl, one))
    return pairs


def _refuse(spec: Spec) -> Impl:
    raise MorelloError(f"a program of the data set has a hole: {spec}")

"""Results as values that JSON holds: `Row`, `Entry`, `Roof`."""

import dataclasses
import statistics
from typing import Any

from benchmarks.harness.case import Case
from benchmarks.harness.roof_loops import DOT_BF16

TOLERANCE = 1.02
"""How far above a roof a rate may be: the clock is not the same at every moment."""

_SATURATING = "vpmaddubsw s16"

_ARITHMETIC = {"f32": "fma f32", "bf16": "fma f32", "s32": "vpmulld s32"}


def arithmetic_roof(case: Case) -> str:
    """The loop that bounds a case; narrow floats are widened and multiplied as f32."""
    if case.dtypes[0] == "u8":
        return "vpmaddubsw s32" if case.dtypes[2] == "s32" else _SATURATING
    if case.products == "flushing":
        return DOT_BF16
    return _ARITHMETIC[case.dtypes[0]]


def limit_roof(case: Case) -> str:
    """The loop that nothing with AVX2 is faster than."""
    return _SATURATING if case.dtypes[0] == "u8" else arithmetic_roof(case)


@dataclasses.dataclass(frozen=True)
class Roof:
    """Rates that bound a case, measured between its samples, on as many threads.

    Args:
        name: of the arithmetic loop.
        arithmetic: its operations, 10^9 a second.
        limit: operations that no code for AVX2 exceeds, 10^9 a second.
        read: bytes of as much memory as the operands take, 10^9 a second.
        dram: bytes of far more memory than caches hold; 0 where operands fit into them.
    """

    name: str
    arithmetic: float
    limit: float
    read: float
    dram: float = 0.0

    def seconds(self, flops: int, nbytes: int) -> float:
        """The least time: of the arithmetic, or of touching all operands once."""
        return max(flops / self.arithmetic, nbytes / self.read) / 1e9

    def bound(self, flops: int, nbytes: int) -> str:
        """Name the rate that bounds: ``arithmetic`` or ``bandwidth``."""
        arithmetic = flops / self.arithmetic >= nbytes / self.read
        return "arithmetic" if arithmetic else "bandwidth"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A contender at a case.

    Args:
        name: of the contender.
        status: ``ok``, ``unsupported``, ``wrong`` or ``failed``.
        detail: why, where it is not ``ok``; a note where it is.
        samples: seconds a call, round by round.
        calls: in each sample.
        in_python: whether each call was made from Python.
        out_dtype: of the output, where it is not the case's.
        above_roof: whether it was faster than anything with AVX2 can be.
        fractions: of the roof of the same round, for each sample.
    """

    name: str
    status: str
    detail: str = ""
    samples: tuple[float, ...] = ()
    calls: int = 0
    in_python: bool = False
    out_dtype: str = ""
    above_roof: bool = False
    fractions: tuple[float, ...] = ()

    @property
    def best(self) -> float:
        """The least seconds a call."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The seconds a call in the middle."""
        return statistics.median(self.samples)

    @property
    def fraction(self) -> float | None:
        """The part of the roof in the same round, in the middle of all rounds."""
        return statistics.median(self.fractions) if self.fractions else None

    @property
    def counts(self) -> bool:
        """Whether others may be compared with it."""
        return self.status == "ok" and not self.above_roof and not self.out_dtype


@dataclasses.dataclass(frozen=True)
class Row:
    """All contenders at one case.

    Args:
        load: of the machine before and after, processes a minute.
        origin: command, commit, date of this row: a record may grow.
    """

    spec: str
    threads: int
    flops: int
    bytes: int
    roof: Roof
    entries: tuple[Entry, ...]
    load: tuple[float, float]
    origin: dict[str, str]

    def entry(self, name: str) -> Entry | None:
        """The entry of a contender."""
        return next((e for e in self.entries if e.name == name), None)

    def best_other(self, name: str, median: bool = False) -> Entry | None:
        """The fastest that counts of all but one."""
        others = [e for e in self.entries if e.counts and e.name != name]
        key = (lambda e: e.median) if median else (lambda e: e.best)
        return min(others, key=key, default=None)

    def ratio(self, name: str, median: bool = False) -> float | None:
        """Time of the best other over that of a contender: above 1 it is faster."""
        mine, other = self.entry(name), self.best_other(name, median)
        if mine is None or other is None or not mine.counts:
            return None
        if median:
            return other.median / mine.median
        return other.best / mine.best

    def ratio_in_turns(self, name: str) -> float | None:
        """The least, of all others that count, of the middle ratio of their time over
        that of a contender in the same round: what a whole round has in common, as the
        clock of the core, is in neither."""
        mine = self.entry(name)
        if mine is None or not mine.counts:
            return None
        medians = [
            statistics.median(
                b / a for a, b in zip(mine.samples, e.samples, strict=True)
            )
            for e in self.entries
            if e.counts and e.name != name and len(e.samples) == len(mine.samples)
        ]
        return min(medians, default=None)

    def fraction(self, seconds: float) -> float:
        """The least time by the roof, of a time."""
        return self.roof.seconds(self.flops, self.bytes) / seconds

    def as_json(self) -> dict[str, Any]:
        """The row with what follows from its samples."""
        data = dataclasses.asdict(self)
        for entry, result in zip(data["entries"], self.entries, strict=True):
            entry["samples"] = [float(f"{s:.4g}") for s in result.samples]
            entry["fractions"] = [float(f"{f:.4g}") for f in result.fractions]
            if result.samples:
                entry["best_s"], entry["median_s"] = result.best, result.median
                entry["of_roof"] = round(self.fraction(result.best), 4)
        return data


def row_of(data: dict[str, Any]) -> Row:
    """The row that `Row.as_json` has written."""
    names = {field.name for field in dataclasses.fields(Entry)}
    entries = []
    for entry in data["entries"]:
        fields = {key: value for key, value in entry.items() if key in names}
        lists = {k: tuple(fields.get(k, ())) for k in ("samples", "fractions")}
        entries.append(Entry(**{**fields, **lists}))
    rest = {"roof": Roof(**data["roof"]), "entries": tuple(entries)}
    return Row(**{**data, **rest, "load": tuple(data["load"])})


def mark_above_roof(entries: list[Entry], flops: int, roof: Roof) -> list[Entry]:
    """The entries, those faster than the roof allows marked."""
    limit = TOLERANCE * roof.limit * 1e9
    return [
        dataclasses.replace(e, above_roof=bool(e.samples) and flops / e.best > limit)
        for e in entries
    ]

"""Measurements of each shape, as JSON: `Shape`, `Record`."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from benchmarks.harness.results import Row
from morello.whole_files import write_whole

OURS = ("morello", "tuned")
"""The contenders that are Morello: by the model's choice, and tuned."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """All contenders at one Spec.

    Args:
        samples: seconds of a call by contender, turn by turn.
        failed: why others have none, or none that counts.
        load: of the machine, processes a minute.
        origin: the command, its commit, and when.
    """

    spec: str
    samples: dict[str, tuple[float, ...]]
    failed: dict[str, str]
    load: float
    origin: dict[str, str]

    @classmethod
    def of(cls, row: Row) -> "Shape":
        """Convert a product that `benchmarks.harness` has measured."""
        samples, failed = {}, {}
        for entry in row.entries:
            if entry.counts:
                samples[entry.name] = entry.samples
            elif entry.status != "ok":
                failed[entry.name] = f"{entry.status}: {entry.detail}"
            else:
                failed[entry.name] = (
                    f"its output is {entry.out_dtype}"
                    if entry.out_dtype
                    else "faster than AVX2 can be"
                )
        return cls(row.spec, samples, failed, max(row.load), row.origin)

    @property
    def peer(self) -> str:
        """The fastest of the others; empty if there is none."""
        peers = [name for name in self.samples if name not in OURS]
        return min(peers, key=self.best, default="")

    def best(self, name: str) -> float:
        """The least seconds of a call of a contender."""
        return min(self.samples[name])

    def ratio(self, name: str) -> float | None:
        """The time of the best peer over that of a contender; None if one is
        missing."""
        if name not in self.samples or not self.peer:
            return None
        return self.best(self.peer) / self.best(name)


@dataclasses.dataclass(frozen=True)
class Record:
    """Shapes, and where they were measured."""

    name: str
    machine: str
    threads: int
    shapes: dict[str, Shape]
    """By Spec."""

    def save(self, folder: Path) -> None:
        """Write it as JSON."""
        data = dataclasses.asdict(self)
        data["shapes"] = [dataclasses.asdict(s) for s in self.shapes.values()]
        for shape in data["shapes"]:
            shape["samples"] = {
                name: [float(f"{s:.4g}") for s in samples]
                for name, samples in shape["samples"].items()
            }
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, indent=1) + "\n"
        write_whole(folder / f"{self.name}.json", text.encode())

    @classmethod
    def load(cls, path: Path) -> "Record":
        """Read a record that `save` has written."""
        data: dict[str, Any] = json.loads(path.read_text())
        shapes = {}
        for shape in data.pop("shapes"):
            samples = {n: tuple(s) for n, s in shape["samples"].items()}
            shapes[shape["spec"]] = Shape(**{**shape, "samples": samples})
        return cls(**data, shapes=shapes)

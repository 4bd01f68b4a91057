"""A record of measurements: one JSON file, which may grow, and pages made of it."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from benchmarks.harness.results import Row, row_of
from morello.whole_files import write_whole


@dataclasses.dataclass(frozen=True)
class Contender:
    """A contender, and what it says of itself.

    Args:
        missing: why it is not there; then the rest is empty.
    """

    name: str
    version: str = ""
    limit: str = ""
    confirmed: bool = False
    missing: str = ""


@dataclasses.dataclass(frozen=True)
class Record:
    """Rows with all that they were measured with.

    Args:
        ours: names of the contenders that are Morello.
        roofs: 10^9 a second by name (``read L1``, ``fma f32``), then by cores.
    """

    name: str
    machine: str
    ours: tuple[str, ...]
    contenders: tuple[Contender, ...]
    roofs: dict[str, dict[str, float]]
    rows: tuple[Row, ...]

    def merged(self, older: "Record") -> "Record":
        """This record and the rows of an older one that it does not measure again."""
        mine = {(row.spec, row.threads) for row in self.rows}
        older_rows = [row for row in older.rows if (row.spec, row.threads) not in mine]
        names = {contender.name for contender in self.contenders}
        others = [c for c in older.contenders if c.name not in names]
        roofs = {
            name: _best(older.roofs.get(name, {}), self.roofs.get(name, {}))
            for name in {**older.roofs, **self.roofs}
        }
        return dataclasses.replace(
            self,
            ours=tuple(dict.fromkeys(older.ours + self.ours)),
            contenders=self.contenders + tuple(others),
            roofs=roofs,
            rows=tuple(older_rows) + self.rows,
        )

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        data = {
            "name": self.name,
            "machine": self.machine,
            "ours": self.ours,
            "contenders": [dataclasses.asdict(c) for c in self.contenders],
            "roofs": self.roofs,
            "rows": [row.as_json() for row in self.rows],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _lists_on_lines(json.dumps(data, indent=1)) + "\n"
        write_whole(path, text.encode())

    @classmethod
    def load(cls, path: Path) -> "Record":
        """Read a record that `save` has written."""
        data: dict[str, Any] = json.loads(path.read_text())
        return cls(
            data["name"],
            data["machine"],
            tuple(data["ours"]),
            tuple(Contender(**c) for c in data["contenders"]),
            data["roofs"],
            tuple(row_of(row) for row in data["rows"]),
        )


def _lists_on_lines(text: str) -> str:
    """JSON with each list of numbers on one line."""

    def join(match: re.Match[str]) -> str:
        return f"[{', '.join(match[1].split())}]".replace(",,", ",")

    return re.sub(r"\[\s+([-+.\deE,\s]+?)\s+\]", join, text)


def _best(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {key: max(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}}

"""Contents of a database by kind: tables and their boxes, and goals it serves."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from morello.explain.words import counted
from morello.search.storage.program_boxes import ProgramBoxes
from morello.search.storage.schema import ProgramRow
from morello.search.storage.table_rows import Row
from morello.tools.table import size_text

_KIND = re.compile(r"(\w{1,32})\(", re.ASCII)
_LABEL = re.compile(r"\w{1,32}", re.ASCII)
_UNKNOWN = "other"


class TablesByKind:
    """Tables, Specs and boxes of each kind, as rows of tables are added."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add(self, row: Row) -> None:
        """Count a row."""
        kind = _KIND.match(row.name)
        counts = self._counts.setdefault(
            kind[1].lower() if kind else _UNKNOWN, Counter()
        )
        counts["tables"] += 1
        for field in ("boxes", "cost_boxes"):
            counts[field] += getattr(row, field)
        counts["specs"] += row.points

    @property
    def data(self) -> tuple[dict[str, Any], ...]:
        """The fields that ``--json`` prints, the kind of most Specs first."""
        kinds = sorted(self._counts.items(), key=lambda k: (-k[1]["specs"], k[0]))
        return tuple({"kind": kind, **counts} for kind, counts in kinds)


def kind_text(row: dict[str, Any]) -> str:
    """The tables of a kind for a person."""
    parts = [counted(row["tables"], "table"), counted(row["specs"], "Spec")]
    if row["boxes"]:
        every = row["boxes"] + row["cost_boxes"]
        parts.append(
            f"{row['specs'] / row['boxes']:.0f} a box with decisions only, "
            f"{row['specs'] / every:.0f} with costs"
        )
    return ", ".join(parts)


def goals_by_label(programs: Iterable[ProgramRow]) -> dict[str, int]:
    """How many goals of each label have a program, most first."""
    labels = Counter(
        label[0] if (label := _LABEL.match(row.spec)) else _UNKNOWN for row in programs
    )
    return dict(sorted(labels.items(), key=lambda label: (-label[1], label[0])))


def targets_of(programs: Iterable[ProgramRow]) -> dict[str, int]:
    """How many goals of each target have a program, most first."""
    names = Counter((*row.family.split(), _UNKNOWN, _UNKNOWN)[1] for row in programs)
    return dict(sorted(names.items(), key=lambda name: (-name[1], name[0])))


def packed_data(boxes: ProgramBoxes) -> dict[str, Any]:
    """Convert programs in boxes to the fields that ``--json`` prints."""
    goals, count, programs = boxes.counts
    return {
        "spec": boxes.spec,
        "target": (*boxes.family.split(), _UNKNOWN, _UNKNOWN)[1],
        "goals": goals,
        "boxes": count,
        "programs": programs,
        "bytes": len(boxes.boxes),
    }


def packed_text(data: dict[str, Any]) -> str:
    """Programs in boxes for a person."""
    size = data["bytes"]
    return (
        f"{counted(data['goals'], 'goal')} as {data['spec']} on {data['target']}: "
        f"{counted(data['programs'], 'program')} as boxes ({data['boxes']:,}), "
        f"{size_text(size)}, {size / max(1, data['goals']):.1f} bytes a goal"
    )


def goals_text(goals: dict[str, int]) -> str:
    """The goals of a database for a person."""
    return ", ".join(f"{count:,} {label}" for label, count in goals.items())

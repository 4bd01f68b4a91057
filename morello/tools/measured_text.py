"""A choice that was measured, as text and as JSON values."""

from collections.abc import Iterator
from typing import Any

from morello.explain.words import counted
from morello.search.queries.measured import Measured
from morello.tools.table import time_text


def measured_data(measured: Measured) -> dict[str, Any]:
    """Convert a measurement to the fields of ``--json``: seconds and cycles of a
    call."""
    key = measured.model.key
    return {
        "target": key.target,
        "threads": key.threads,
        "cpu": key.cpu,
        "gain": measured.gain,
        "seconds": measured.chosen.seconds,
        "model_seconds": measured.model.seconds,
        "programs": [
            {
                "class": row.features,
                "seconds": row.seconds,
                "cycles": row.cycles,
                "model": row is measured.model,
                "chosen": row is measured.chosen,
            }
            for row in sorted(measured.rows, key=lambda row: row.seconds)
        ],
    }


def measured_summary(measured: Measured) -> str:
    """One line for a person."""
    key, rows = measured.model.key, len(measured.rows)
    took = time_text(measured.chosen.seconds)
    if measured.chosen is measured.model:
        verdict = f"{took} a call, the model's choice stays"
    else:
        verdict = (
            f"{took} a call, {measured.gain:.2f} times as fast as the model's choice "
            f"({time_text(measured.model.seconds)})"
        )
    return f"measured: {verdict}; {counted(rows, 'program')} timed on {key.cpu}"


def measured_lines(measured: Measured) -> Iterator[str]:
    """Every program that was timed, the fastest first."""
    for row in sorted(measured.rows, key=lambda row: row.seconds):
        mark = "*" if row.chosen else " "
        note = "  (the model's choice)" if row is measured.model else ""
        yield f"{mark} {time_text(row.seconds):>9}  {row.features}{note}"

"""A choice that was measured, as text and as JSON values."""

from collections.abc import Iterator
from typing import Any

from morello.search.queries.measured import Measured
from morello.tools.table import count_text, time_text


def measured_data(found: Measured) -> dict[str, Any]:
    """Convert a measurement to the fields of ``--json``: seconds and cycles of a
    call."""
    key = found.model.key
    return {
        "target": key.target,
        "threads": key.threads,
        "cpu": key.cpu,
        "gain": found.gain,
        "seconds": found.chosen.seconds,
        "model_seconds": found.model.seconds,
        "programs": [
            {
                "class": row.features,
                "seconds": row.seconds,
                "cycles": row.cycles,
                "model": row is found.model,
                "chosen": row is found.chosen,
            }
            for row in sorted(found.rows, key=lambda row: row.seconds)
        ],
    }


def measured_summary(found: Measured) -> str:
    """One line for a person."""
    key, rows = found.model.key, len(found.rows)
    took = time_text(found.chosen.seconds)
    if found.chosen is found.model:
        verdict = f"{took} a call, the model's choice stays"
    else:
        verdict = (
            f"{took} a call, {found.gain:.2f} times as fast as the model's choice "
            f"({time_text(found.model.seconds)})"
        )
    return f"measured: {verdict}; {count_text(rows, 'program')} timed on {key.cpu}"


def measured_lines(found: Measured) -> Iterator[str]:
    """Every program that was timed, the fastest first."""
    for row in sorted(found.rows, key=lambda row: row.seconds):
        mark = "*" if row.chosen else " "
        note = "  (the model's choice)" if row is found.model else ""
        yield f"{mark} {time_text(row.seconds):>9}  {row.features}{note}"

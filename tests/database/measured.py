"""A database with what tuning might have measured, without measuring."""

import dataclasses
from pathlib import Path

from morello.compiler.candidates import find_candidates
from morello.machine import AVX2, Target
from morello.search import Solver
from morello.search.dp.solver import pins_of
from morello.search.queries.measured import measured_key
from morello.search.queries.partial_program import Partial
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredRow
from morello.spec import parse_spec

TEXT = "matmul:4x8x16:f32"


def measured_rows(
    text: str = TEXT, target: Target = AVX2, count: int = 3
) -> tuple[MeasuredRow, ...]:
    """Rows of a goal: each program a tenth faster than the one before."""
    spec = parse_spec(text, target.limits)
    candidates = find_candidates(spec, target, Solver(target.at(spec)), count)
    key = measured_key(spec, target, pins_of(None, target))
    return tuple(
        MeasuredRow(
            key,
            place,
            str(Partial.of(one.impl)),
            one.class_text,
            1e-6 * 0.9**place,
            3e3 * 0.9**place,
            int(place == len(candidates) - 1),
        )
        for place, one in enumerate(candidates)
    )


def measured_database(path: Path) -> tuple[MeasuredRow, ...]:
    """A file with the rows of one goal, which are returned."""
    rows = measured_rows()
    database = Database(path)
    database.put_measured(rows)
    database.close()
    return rows


def elsewhere(rows: tuple[MeasuredRow, ...], **key: str) -> tuple[MeasuredRow, ...]:
    """The same, measured for something else."""
    return tuple(
        dataclasses.replace(row, key=dataclasses.replace(row.key, **key))
        for row in rows
    )

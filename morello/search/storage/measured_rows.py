"""Measurements of tuning in a database: one row for each program that was timed.

A goal has the rows of one tuning at a time. They are keyed by the target's name and by
the processor: what one machine measured says nothing of another.
"""

import dataclasses
import sqlite3

from morello.search.storage.row_tables import NumberedRow, RowTable


@dataclasses.dataclass(frozen=True, order=True)
class MeasuredKey:
    """Key of a measured choice: the goal, the target and the machine."""

    spec: str
    """The goal, with every limit."""
    target: str
    """The name of the target."""
    threads: int
    cpu: str
    """The processor: LLVM's name for it, and the system's."""
    context: str
    """The version of the space, and the digest of the pins."""


@dataclasses.dataclass(frozen=True, order=True)
class MeasuredRow(NumberedRow):
    """A program that was timed."""

    key: MeasuredKey
    place: int
    """Among those that were tried: 0 is the model's choice."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""
    features: str
    """The class, for people."""
    seconds: float
    """Seconds of a call."""
    cycles: float
    """Cycles of the core in a call."""
    chosen: int
    """1 for the program that is used."""

    @property
    def is_possible(self) -> bool:
        """Whether values can be."""
        return (
            self.chosen in (0, 1)
            and _SECONDS[0] <= self.seconds <= _SECONDS[1]
            and _HERTZ[0] <= self.cycles / self.seconds <= _HERTZ[1]
        )


_SECONDS = 1e-12, 1e9
_HERTZ = 1e6, 1e12
"""Bounds of the clock rate of a core, as `_SECONDS` of a call: a file may come from
anyone, and a number beyond these would spoil what is fitted to it."""

MEASURED = RowTable("measured", MeasuredRow, 6)


def write_measured(
    connection: sqlite3.Connection, rows: tuple[MeasuredRow, ...], *, replace: bool
) -> None:
    """Add the rows of goals, each with all of its rows.

    Args:
        replace: whether they take the place of rows of the same goals; else goals that
            have rows are left out, if all of these are whole.
    """
    keys = {row.key for row in rows}
    if not replace:
        there = MEASURED.read(connection)
        broken = {row.key for row, is_whole in there if not is_whole}
        keys -= {row.key for row, _ in there} - broken
    MEASURED.delete(connection, map(dataclasses.astuple, keys))
    MEASURED.write(connection, [row for row in rows if row.key in keys])

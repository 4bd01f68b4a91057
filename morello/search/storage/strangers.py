"""Files from strangers: what SQLite is told before it reads one, and what is refused.

A schema is code: a stranger's triggers, views, virtual tables and expressions would run
when a row is read or written. A file has our tables, word for word, or is refused. Rows
are believed only as far as their checks go.
"""

import itertools
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

MOST_BYTES = 1 << 28
"""Maximum bytes of one value of a row, deflated or inflated. The largest tables of
goals of 4096^3 take a tenth."""

MOST_NUMBER = 1 << 62
"""Integers of actions and axes are less: sums of two of them are numbers of 64 bits."""


def harden(connection: sqlite3.Connection) -> None:
    """Set the limits for a file that may be anyone's."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    # Text that is not UTF-8 fails its row's checksum; as an error it hides all rows.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")


def foreign_parts(
    connection: sqlite3.Connection, ours: Iterable[str]
) -> tuple[str, ...]:
    """List the parts of a file's schema that are not our tables: ``trigger 'x'``,
    sorted.

    Args:
        connection: to the file.
        ours: the statements that make our tables.
    """
    known = {_words(statement) for statement in ours}
    schema = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    return tuple(sorted(_foreign(schema, known)))


def bounded_json(text: str | bytes) -> Any:
    """The value of a JSON text, however deep or odd it is.

    Raises:
        ValueError: it cannot be read, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_axis(sizes: list[Any]) -> tuple[int, ...]:
    """The sizes of an axis: they ascend, and are sizes that a Spec can have.

    Raises:
        ValueError: they are not.
    """
    pairs = itertools.pairwise([0, *sizes])
    if not all(type(b) is int and a < b < MOST_NUMBER for a, b in pairs):
        raise ValueError("these are no sizes")
    return tuple(sizes)


def _foreign(rows: Iterable[tuple[Any, ...]], known: set[str]) -> Iterator[str]:
    for kind, name, statement in rows:
        is_automatic = (
            kind == "index" and statement is None
        )  # the index of a primary key
        if not is_automatic and (
            kind != "table" or _words(str(statement)) not in known
        ):
            yield f"{kind} '{name}'"


def _words(statement: str) -> str:
    """A statement as SQLite keeps it, whatever its spaces are."""
    return re.sub(r"\s+", " ", statement.replace("IF NOT EXISTS ", "")).strip()

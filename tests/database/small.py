"""Goals whose tables are few and small, and what a test asks of their answers."""

import functools
from pathlib import Path

from morello.machine import AVX2
from morello.search import Solver
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.table_rows import Row
from morello.spec import Spec, parse_spec

TEXTS = ("move:7x9:f32", "fill:12x5:f32", "max:6x10:f32")
"""Goals of a few tables each."""


def spec(text: str) -> Spec:
    """The Spec that a text stands for."""
    return parse_spec(text, AVX2.limits)


@functools.cache
def cold(text: str) -> str:
    """The program of a goal, found without a database, once a process."""
    return program(text, None)


def program(text: str, database: Overlay | None) -> str:
    """The program of a goal as text, costs and all; a new solver each time."""
    return str(Solver(AVX2, database).solve(spec(text)).impl)


def filled(path: Path, text: str = TEXTS[0]) -> Overlay:
    """A database that has the tables of a goal."""
    overlay = Overlay(Database(path))
    program(text, overlay)
    return overlay


def forget_programs(database: Database) -> None:
    """Take the programs of goals out, so that lookups read tables."""
    database.delete((), tuple(row for row, _ in database.programs()))


def row(number: int, writer: int = 0) -> Row:
    """A row with contents of its own, as a program of ours would not write it."""
    start = number * 7 % 251
    data = _NUMBERS[start : start + 40 + number % 60]
    row_key = key(number, writer)
    return Row(row_key, f"row {number}", "family", number, 1, 2, data, data[::-1])


def key(number: int, writer: int = 0) -> bytes:
    """The key of `row`."""
    return f"{writer}:{number}".encode().ljust(32, b".")


_NUMBERS = bytes(range(251)) * 2

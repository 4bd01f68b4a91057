"""Print and remove measured choices, for ``morello db``."""

import itertools
from collections.abc import Iterator
from typing import Any

from morello.errors import MorelloError
from morello.explain.words import counted
from morello.machine.host import processor_name
from morello.search.queries.partial_program import Partial
from morello.search.storage.cache_key import space
from morello.search.storage.connection import DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.tools.table import time_text


def measured_data(database: Database) -> Iterator[dict[str, Any]]:
    """Convert the goals whose rows are whole to the fields that ``--json`` prints."""
    for key, rows in _goals(database):
        chosen = next((row for row in rows if row.chosen), None)
        if chosen is not None and _is_current(key):
            yield {
                "spec": key.spec,
                "target": key.target,
                "threads": key.threads,
                "cpu": key.cpu,
                "here": key.cpu == processor_name(),
                "class": chosen.features,
                "seconds": chosen.seconds,
                "model_seconds": rows[0].seconds,
                "programs": len(rows),
            }


def measured_text(data: dict[str, Any]) -> str:
    """A choice for a person."""
    where = "here" if data["here"] else f"on {data['cpu']}"
    gain = data["model_seconds"] / data["seconds"]
    return (
        f"{data['spec']} on {data['target']}, {counted(data['threads'], 'thread')}, "
        f"{where}: "
        f"{time_text(data['seconds'])}, {gain:.2f} times as fast as the model's "
        f"choice, of {counted(data['programs'], 'program')}"
    )


def measured_fault(row: MeasuredRow) -> str:
    """The fault of a row whose checksum is right."""
    if not _is_current(row.key):
        return ""  # another version's: it may have had other actions
    try:
        holes = Partial.parse(row.program).holes
    except MorelloError as error:
        return str(error)
    return f"the program has {holes} holes" if holes else ""


def old_measured(database: Database) -> tuple[MeasuredKey, ...]:
    """The goals whose rows no lookup reads: of other versions, or damaged."""
    whole = {key for key, _ in _goals(database) if _is_current(key)}
    return tuple({row.key for row, _ in database.measured()} - whole)


def copy_measured(old: Database, new: Database) -> tuple[int, bool]:
    """Copy the goals whose rows are whole, but those that are there; how many rows are
    damaged, and whether any was whole. None can be read in some damaged files."""
    try:
        rows = old.measured()
        whole = tuple(row for _, goal in _goals(old) for row in goal)
    except DatabaseError:
        return 0, False  # the reason is said of the tables, which are not read either
    if whole:
        new.put_measured(whole, replace=False)
    return sum(not is_whole for _, is_whole in rows), bool(whole)


def _goals(database: Database) -> Iterator[tuple[MeasuredKey, tuple[MeasuredRow, ...]]]:
    """The measured rows of each goal whose rows are all undamaged."""
    for key, group in itertools.groupby(database.measured(), lambda r: r[0].key):
        rows = tuple(group)
        if all(is_whole for _, is_whole in rows):
            yield key, tuple(row for row, _ in rows)


def _is_current(key: MeasuredKey) -> bool:
    return key.context.split()[:1] == [space()]

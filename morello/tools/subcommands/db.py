"""``morello db``: look after the database of solved Specs."""

import contextlib
import dataclasses
import json
import math
import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from morello.compiler.code_folder import code_folder
from morello.errors import MorelloError, visible
from morello.explain.words import counted
from morello.runtime import code_cache
from morello.search.queries.partial_program import Partial
from morello.search.storage.cache_key import space
from morello.search.storage.codec import summary
from morello.search.storage.connection import DatabaseError
from morello.search.storage.deflated import CodecError
from morello.search.storage.overlay import NONE, VARIABLE, default_path, named_paths
from morello.search.storage.schema import ProgramRow, SearchRow
from morello.search.storage.table_rows import Row
from morello.search.storage.transfer import copy_rows, opened
from morello.suggestions import did_you_mean
from morello.tools.commands import DbOptions
from morello.tools.input_output import UsageError, write_output
from morello.tools.subcommands.db_contents import (
    TablesByKind,
    goals_by_label,
    goals_text,
    kind_text,
    packed_data,
    packed_text,
    targets_of,
)
from morello.tools.subcommands.db_measured import (
    copy_measured,
    measured_data,
    measured_fault,
    measured_text,
    old_measured,
)
from morello.tools.subcommands.db_pins import (
    digests,
    main_pin,
    main_unpin,
    pin_data,
    pin_fault,
    pins_digest,
)
from morello.tools.table import size_text, table, time_text


@dataclasses.dataclass(frozen=True)
class Info:
    """Fields that ``--json`` prints of a database."""

    path: str
    bytes: int
    """Bytes of the file."""
    tables: int
    current: int
    """Tables that this version of Morello can read, for any target."""
    damaged: int
    """Rows whose checksum is wrong."""
    specs: int
    """Number of Specs in all tables."""
    boxes: int
    """Number of boxes of decisions."""
    cost_boxes: int
    compression_decisions: float | None
    """Specs a box of decisions."""
    compression: float | None
    """Specs a box, of decisions and of costs together."""
    pins: tuple[dict[str, Any], ...] = ()
    """The pins: ``spec``, ``target``, how many ``holes`` are left to the search,
    and whether the row is ``whole``."""
    programs: int = 0
    """Goals whose program this version of Morello can read without tables."""
    table_bytes: int = 0
    """Bytes of the decisions and costs of all tables."""
    program_bytes: int = 0
    """Bytes of the programs as text; those in boxes take fewer."""
    measured: tuple[dict[str, Any], ...] = ()
    """The choices that were measured: ``spec``, ``target``, ``threads``, ``cpu``, the
    ``class`` that was chosen, its ``seconds`` and those of the model's choice, and how
    many ``programs`` were timed; ``here`` if this machine uses it."""
    searches: tuple[dict[str, Any], ...] = ()
    """Searches with this version: the fields of a `SearchRow`, both compressions,
    and ``programs_log10`` where they were counted."""
    kinds: tuple[dict[str, Any], ...] = ()
    """The tables of each kind, and those of graphs together: ``kind``, ``tables``,
    ``specs``, ``boxes`` and ``cost_boxes``."""
    goals: dict[str, int] = dataclasses.field(default_factory=dict)
    """How many of ``programs`` there are of each label of a Spec."""
    targets: dict[str, int] = dataclasses.field(default_factory=dict)
    """Goals of each target."""
    packed: tuple[dict[str, Any], ...] = ()
    """Programs in boxes: one of the Specs, which differ in their sizes alone, how many
    ``goals`` there are, ``boxes`` of sizes, distinct ``programs``, and ``bytes``."""
    code: str | None = None
    """The folder of machine code, which belongs to the user and not to a database."""
    code_files: int = 0
    code_bytes: int = 0


def main(options: DbOptions) -> int:
    """Run the command.

    Returns:
        0; or 1 if ``verify`` finds something wrong.

    Raises:
        MorelloError: a file that cannot be used.
    """
    if options.action not in _ACTIONS:
        names = ", ".join(_ACTIONS)
        raise UsageError(
            f"there is no 'db {options.action}'",
            f"use one of {names}{did_you_mean(options.action, _ACTIONS)}",
        )
    least, most, form = _WORDS.get(options.action, (0, 0, "no FILE"))
    if not least <= len(options.words) <= most:
        need = f"needs {form}" if least else "takes no FILE"
        raise UsageError(f"'db {options.action}' {need}", "see morello db --help")
    return _ACTIONS[options.action](_path(options), options)


def _path(options: DbOptions) -> Path:
    paths = named_paths(options.db)
    if paths is None:
        raise UsageError(
            f"--db or {VARIABLE} says '{NONE}': there is no database",
            "give its path with --db",
        )
    return paths[0] if paths else default_path()


def info(path: Path) -> Info:
    """The contents of a database; empty if there is no file."""
    code = _code()
    if not path.exists():
        return Info(str(path), 0, 0, 0, 0, 0, 0, 0, None, None, **code)
    tables = current = damaged = points = boxes = cost_boxes = table_bytes = 0
    kinds = TablesByKind()
    with opened(path) as database:
        for row, is_whole in database.rows():
            kinds.add(row)
            tables += 1
            damaged += not is_whole
            current += _is_current(row)
            points += row.points
            boxes += row.boxes
            cost_boxes += row.cost_boxes
            table_bytes += len(row.decisions) + len(row.costs)
        pins = tuple(pin_data(pin, is_whole) for pin, is_whole in database.pins())
        programs = [row for row, is_whole in database.programs() if is_whole]
        packed = [row for row, is_whole in database.program_boxes() if is_whole]
        served = list(filter(_is_current, programs))
        measured = tuple(measured_data(database))
        searches = tuple(map(search_data, filter(_is_current, database.searches())))
    return Info(
        str(path),
        path.stat().st_size,
        tables,
        current,
        damaged,
        points,
        boxes,
        cost_boxes,
        points / boxes if boxes else None,
        points / (boxes + cost_boxes) if boxes else None,
        pins,
        len(served),
        table_bytes,
        sum(len(row.spec) + len(row.family) + len(row.program) for row in programs),
        measured,
        searches,
        kinds.data,
        goals_by_label(served),
        targets_of(served),
        tuple(map(packed_data, packed)),
        **code,
    )


def _code() -> dict[str, Any]:
    """Measure the cache of machine code: its folder, files and bytes."""
    folder = code_folder()
    if folder is None:
        return {}
    sizes = [path.stat().st_size for path in code_cache.entries(folder)]
    return {"code": str(folder), "code_files": len(sizes), "code_bytes": sum(sizes)}


def search_data(row: SearchRow) -> dict[str, Any]:
    """Convert a search to the fields that ``--json`` prints."""
    values = dataclasses.asdict(row)
    programs = values.pop("programs")
    return {
        **values,
        "target": row.machine,
        "compression": row.compression,
        "compression_decisions": row.compression_decisions,
        "programs_log10": None if programs is None else programs * math.log10(2),
    }


def _search_text(row: dict[str, Any]) -> str:
    """A search for a person."""
    parts = [
        f"{row['spec']} on {row['target']}: {time_text(row['seconds'])}",
        f"peak {row['peak_bytes'] / 1e6:.0f} MB",
        f"{counted(row['specs'], 'Spec')} in {counted(row['tables'], 'table')}",
    ]
    if row["compression"]:
        parts.append(
            f"{row['compression_decisions']:.0f} Specs a box with decisions only, "
            f"{row['compression']:.0f} with costs"
        )
    if row["programs_log10"] is not None:
        parts.append(f"10^{row['programs_log10']:,.1f} programs")
    return ", ".join(parts)


def _info(path: Path, options: DbOptions) -> int:
    contents = info(path)
    if options.json:
        write_output("-", json.dumps(dataclasses.asdict(contents)) + "\n")
        return 0
    old = contents.tables - contents.current
    rows = [
        (
            "path",
            contents.path if contents.bytes else f"{contents.path} (no such file yet)",
        ),
        ("size", size_text(contents.bytes)),
        (
            "tables",
            f"{contents.tables:,}, {old:,} of other versions, "
            f"{size_text(contents.table_bytes)}",
        ),
        ("damaged", f"{contents.damaged:,}"),
        ("programs", f"{contents.programs:,}, {size_text(contents.program_bytes)}"),
        ("goals", goals_text(contents.goals) or "none"),
        ("targets", goals_text(contents.targets) or "none"),
        ("Specs", f"{contents.specs:,}"),
        ("boxes", f"{contents.boxes:,} of decisions, {contents.cost_boxes:,} of costs"),
    ]
    if contents.compression is not None and contents.compression_decisions is not None:
        rows.append(
            (
                "Specs a box",
                f"{contents.compression_decisions:.0f} with decisions only, "
                f"{contents.compression:.0f} with costs",
            )
        )
    rows += [(row["kind"], kind_text(row)) for row in contents.kinds]
    rows += [("packed", packed_text(row)) for row in contents.packed]
    if contents.code is not None:
        size = size_text(contents.code_bytes)
        rows.append(("code", f"{size} in {contents.code}"))
    for row in contents.pins:
        left = "damaged" if row["holes"] is None else f"{row['holes']} holes"
        rows.append(("pinned", f"{row['spec']} on {row['target']}, {left}"))
    rows += [("measured", measured_text(row)) for row in contents.measured]
    rows += [("search", _search_text(row)) for row in contents.searches]
    write_output("-", visible(table(*rows)))
    return 0


def _clear_code(path: Path, options: DbOptions) -> int:
    folder = code_folder()
    if folder is None:
        write_output("-", "there is no folder of machine code\n")
        return 0
    size = _code()["code_bytes"]
    try:
        code_cache.clear(folder)
    except OSError as error:
        raise DatabaseError(
            f"{error.filename} cannot be deleted: {error.strerror}",
            "see who may write its folder",
        ) from error
    write_output("-", f"{folder}: emptied, {size_text(size)}\n")
    return 0


def _verify(path: Path, options: DbOptions) -> int:
    rows = 0
    with opened(path) as database:
        wrong = [f"file: {text}" for text in database.check()]
        checks: tuple[tuple[Iterable[Any], Callable[[Any], str], str], ...] = (
            (database.rows(), _fault, "{0.name}"),
            (database.pins(), pin_fault, "pin of {0.spec}"),
            (database.programs(), _program_fault, "program of {0.spec}"),
            (database.measured(), measured_fault, "measured of {0.key.spec}"),
        )
        for every, fault, name in checks:
            for row, is_whole in every:
                rows += 1
                reason = fault(row) if is_whole else "the checksum is wrong"
                if reason:
                    key = f"{row.key.hex()[:16]} " if isinstance(row, Row) else ""
                    wrong.append(f"{key}{name.format(row)}: {reason}")
    lines = [*wrong, f"{path}: {counted(rows, 'row')}, {counted(len(wrong), 'fault')}"]
    write_output("-", visible("\n".join(lines) + "\n"))
    return 1 if wrong else 0


def _fault(row: Row) -> str:
    """The fault in the contents of a row whose checksum is right."""
    try:
        counts = summary(row.decisions, row.costs)
    except CodecError as error:
        return str(error)
    wanted = (row.points, row.boxes, row.cost_boxes)
    return "" if counts == wanted else f"it says {wanted} but has {counts}"


def _program_fault(row: ProgramRow) -> str:
    """The fault of a program whose checksum is right."""
    if not _is_current(row):
        return ""  # another version's: it may have had other actions
    try:
        Partial.parse(row.program)
    except MorelloError as error:
        return str(error)
    return ""


def _export(path: Path, options: DbOptions) -> int:
    target = Path(options.words[0])
    if os.path.lexists(target):
        raise DatabaseError(f"{target} exists", "give the name of a new file")
    if not target.parent.is_dir():
        raise DatabaseError(
            f"{target} cannot be written: there is no folder {target.parent}",
            "give the name of a new file",
        )
    half = target.with_name(f".{secrets.token_hex(8)}.new")
    try:
        new, damaged = _copy(path, half, tables=not options.programs)
        with opened(half, is_writable=True) as database:  # its log is closed, too
            if options.programs:
                database.fold_programs()
            programs = len(database.programs())
        _name(half, target)
    finally:
        with contextlib.suppress(OSError):  # where it could not be made
            half.unlink(missing_ok=True)
    lost = f", {damaged} damaged left out" if damaged else ""
    size = size_text(target.stat().st_size)
    write_output("-", f"{target}: {new} tables, {programs} programs{lost}, {size}\n")
    return 0


def _name(file: Path, target: Path) -> None:
    """Give a file the name of one that is not there.

    Raises:
        DatabaseError: it is there by now, or cannot be made.
    """
    try:
        try:
            target.hardlink_to(file)  # follows no link, replaces nothing
        except (PermissionError, NotImplementedError):  # there are no hard links
            file.rename(target)
    except OSError as error:
        raise DatabaseError(
            f"{target} cannot be written: {error.strerror}",
            "give the name of a new file",
        ) from error


def _import(path: Path, options: DbOptions) -> int:
    for name in options.words:
        new, damaged = _copy(Path(name), path)
        lost = f", {damaged} damaged left out" if damaged else ""
        write_output("-", f"{name}: {new} new tables{lost}\n")
    return 0


def _gc(path: Path, options: DbOptions) -> int:
    with opened(path, is_writable=True) as database:
        pinned = digests(database)

        def is_used(row: Row | ProgramRow, is_whole: bool) -> bool:
            return is_whole and _is_current(row) and pins_digest(row) in pinned

        sizes: list[tuple[int, bytes]] = []
        unused: list[bytes] = []
        for row, whole in database.rows():
            if is_used(row, whole):
                sizes.append((len(row.decisions) + len(row.costs), row.key))
            else:
                unused.append(row.key)
        programs = tuple(r for r, whole in database.programs() if not is_used(r, whole))
        before = path.stat().st_size
        if options.limit is not None:
            unused += _beyond(sizes, options.limit * 1_000_000)
        database.delete(tuple(unused), programs)
        database.delete_measured(old_measured(database))
        database.close()
    saved = size_text(max(0, before - path.stat().st_size))  # a log may have joined it
    write_output("-", f"{path}: {len(unused)} tables out, {saved} less\n")
    return 0


def _beyond(sizes: list[tuple[int, bytes]], limit: int) -> list[bytes]:
    """The keys of the largest tables, to be deleted until so many bytes are left."""
    total = sum(size + _ROW_BYTES for size, _ in sizes)
    gone = []
    for size, key in sorted(sizes, reverse=True):
        if total <= limit:
            break
        gone.append(key)
        total -= size + _ROW_BYTES
    return gone


_ROW_BYTES = 512
"""Bytes of a row besides its decisions and costs, about."""


_MANY = 1 << 16

_WORDS = {
    "export": (1, 1, "one FILE"),
    "import": (1, _MANY, "a FILE"),
    "merge": (1, _MANY, "a FILE"),
    "pin": (2, 2, "a SPEC and a FILE"),
    "unpin": (1, 1, "a SPEC"),
}
"""The least and the most words of an action, and what they are."""

_ACTIONS: dict[str, Callable[[Path, DbOptions], int]] = {
    "info": _info,
    "verify": _verify,
    "export": _export,
    "import": _import,
    "merge": _import,
    "gc": _gc,
    "clear-code": _clear_code,
    "pin": main_pin,
    "unpin": main_unpin,
}


def _is_current(row: Row | ProgramRow | SearchRow) -> bool:
    return space() in row.family.split()


def _copy(source: Path, target: Path, *, tables: bool = True) -> tuple[int, int]:
    """Copy every whole row; how many tables are new, and how many rows were damaged.

    Args:
        source: the file that is read.
        target: the file that is written.
        tables: whether to copy solved tables, besides programs and pins.
    """
    with opened(source) as old, opened(target, is_writable=True) as database:
        lost, is_some = copy_measured(old, database)
        new, damaged = copy_rows(
            old,
            database,
            tables=tables,
            has_more=is_some,
            tell=lambda text: write_output("-", text + "\n"),
        )
        return new, damaged + lost

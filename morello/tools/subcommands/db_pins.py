"""``morello db pin`` and ``unpin``; and what ``db`` says of pins."""

from pathlib import Path
from typing import Any

from morello.compiler.pinning import pin, unpin
from morello.errors import MorelloError
from morello.search.queries.pins import Pin, Pins, full_text
from morello.search.storage.cache_key import PINS
from morello.search.storage.database import Database
from morello.search.storage.schema import PinRow, ProgramRow
from morello.search.storage.table_rows import Row
from morello.tools.commands import DbOptions
from morello.tools.input_output import write_output
from morello.tools.request import Request


def pin_data(pin: PinRow, is_whole: bool) -> dict[str, Any]:
    """Convert a pin to the fields that ``db info --json`` prints."""
    holes = Pin.of(pin).program.holes if is_whole and not pin_fault(pin) else None
    return {"spec": pin.spec, "target": pin.target, "holes": holes, "whole": is_whole}


def pin_fault(pin: PinRow) -> str:
    """The fault of a pin whose checksum is right."""
    try:
        Pin.of(pin)
    except MorelloError as error:
        return str(error)
    return ""


def digests(database: Database) -> set[str]:
    """Digests of the pins that tables may be made with: none, or those of a target."""
    rows = [p for p, is_whole in database.pins() if is_whole and not pin_fault(p)]
    pins = [Pin.of(row) for row in rows]
    targets = {pin.target for pin in pins}
    by_target = (Pins(tuple(p for p in pins if p.target == name)) for name in targets)
    return {"", *(group.digest for group in by_target)}


def pins_digest(row: Row | ProgramRow) -> str:
    """Digest of the pins that a row was made with; empty if there were none."""
    words = (w for w in row.family.split() if w.startswith(PINS))
    return next(words, "").removeprefix(PINS)


def main_pin(path: Path, options: DbOptions) -> int:
    """``db pin SPEC FILE``.

    Raises:
        MorelloError: an argument is refused; nothing is pinned.
    """
    text, file = options.words
    request = Request.read(text, options.target, file, str(path))
    with request.working():
        pinned = pin(
            request.spec, request.schedule or "", target=request.target, db=str(path)
        )
    holes = pinned.program.holes
    left = f", {holes} holes left to the search" if holes else ""
    write_output("-", f"{path}: pinned {pinned.text}{left}\n")
    return 0


def main_unpin(path: Path, options: DbOptions) -> int:
    """``db unpin SPEC``.

    Raises:
        MorelloError: it is not pinned.
    """
    request = Request.read(options.words[0], options.target, None, str(path))
    if not unpin(request.spec, target=request.target, db=str(path)):
        raise MorelloError(
            f"{path}: nothing is pinned for {full_text(request.spec)}",
            "'morello db info' lists what is",
        )
    write_output("-", f"{path}: unpinned {full_text(request.spec)}\n")
    return 0

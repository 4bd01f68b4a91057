"""The programs of many goals in one row: boxes of sizes that have one program each.

Goals that differ in nothing but their sizes are points of a grid. Neighbours have often
the same decisions, and make a box then; programs of different boxes have much in
common, which deflating finds. A grid of thousands of goals takes some bytes a goal, and
a lookup inflates it once.
"""

import dataclasses
import functools
import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from morello.errors import MorelloError
from morello.search.dp.box import Axis
from morello.search.storage.boxes import LabelBoxes
from morello.search.storage.deflated import (
    SMALL,
    CodecError,
    encode_part,
    read_part,
    refusing,
)
from morello.search.storage.row_tables import RowTable, StoredRow, checksum_of
from morello.search.storage.schema import PROGRAMS, ProgramRow
from morello.search.storage.strangers import read_axis
from morello.spec import Limits, Spec, parse_spec, print_spec

MOST_POINTS = 1 << 22
"""A grid of more points is not made, nor read: its goals stay rows."""

_NO_LIMITS = Limits()
_NONE = -1


@dataclasses.dataclass(frozen=True)
class ProgramBoxes(StoredRow):
    """The programs of goals that differ in their sizes alone, at rest."""

    base: bytes
    """A hash of all of the Specs but the sizes."""
    family: str
    """The target, the version of the space and the pins, as of a `ProgramRow`."""
    spec: str
    """Text of one of the Specs, with every limit."""
    boxes: bytes

    def program(self, sizes: Axis) -> str | None:
        """The program of the goal with these sizes; None if there is none, or the row
        cannot be read."""
        try:
            grid = _grid(self.boxes)
        except CodecError:
            return None
        return grid.program(sizes)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many goals it has, boxes, and distinct programs; zeros where it cannot be
        read."""
        try:
            grid = _grid(self.boxes)
        except CodecError:
            return 0, 0, 0
        goals = int(np.count_nonzero(grid.boxes.expand() != _NONE))
        return goals, len(grid.boxes.labels), len(grid.programs)

    def rows(self) -> Iterator[ProgramRow]:
        """The programs as rows.

        Raises:
            CodecError: the row cannot be read.
        """
        with refusing():
            spec = _parsed(self.spec)
            if spec is None or base_of(spec) != self.base:
                raise CodecError(f"{self.spec} is another Spec")
            grid = _grid(self.boxes)
            for sizes, program in grid.all():
                goal = dataclasses.replace(spec, sizes=sizes)
                yield ProgramRow(print_spec(goal, _NO_LIMITS), self.family, program)


BOXES = RowTable("program_boxes", ProgramBoxes, 2)


@dataclasses.dataclass(frozen=True)
class _Grid:
    """The contents of a row."""

    axes: tuple[Axis, ...]
    programs: tuple[str, ...]
    boxes: LabelBoxes

    @classmethod
    def of(cls, programs: dict[Axis, str]) -> "_Grid | None":
        """The programs of some sizes; None where they are too far apart."""
        axes = tuple(tuple(sorted(set(axis))) for axis in zip(*programs, strict=True))
        shape = tuple(map(len, axes))
        if math.prod(shape) > MOST_POINTS:
            return None
        texts = tuple(sorted(set(programs.values())))
        number = {text: label for label, text in enumerate(texts)}
        dense = np.full(shape, _NONE, np.int32)
        for sizes, text in programs.items():
            dense[_point(axes, sizes)] = number[text]
        return cls(axes, texts, LabelBoxes.of(dense))

    @classmethod
    def read(cls, data: bytes) -> "_Grid":
        """The contents in bytes of `encode`; within `refusing`."""
        header, (ends, labels) = read_part(data, ("<u2", "<u4"))
        axes = tuple(map(read_axis, header["axes"]))
        programs = tuple(header["programs"])
        shape = tuple(map(len, axes))
        ends = np.ascontiguousarray(ends.reshape(-1, 2, len(axes)), np.int32)
        inside = (ends[:, 0] < ends[:, 1]) & (ends[:, 1] <= np.asarray(shape))
        if math.prod(shape) > MOST_POINTS or not inside.all():
            raise CodecError("a box is not in the grid")
        is_text = all(isinstance(text, str) for text in programs)
        if not is_text or len(labels) != len(ends) or (labels >= len(programs)).any():
            raise CodecError("a box has no program")
        return cls(axes, programs, LabelBoxes(shape, ends, labels.astype(np.int32)))

    def encode(self) -> bytes:
        """The boxes and programs as bytes."""
        fields = {"axes": self.axes, "programs": self.programs}
        header = {name: json.dumps(value) for name, value in fields.items()}
        boxes = self.boxes.ends.astype("<u2"), self.boxes.labels.astype("<u4")
        return encode_part(header, *boxes, level=SMALL)

    def program(self, sizes: Axis) -> str | None:
        """The program of a goal; None if there is none."""
        if len(sizes) != len(self.axes):
            return None
        if not all(map(tuple.__contains__, self.axes, sizes)):
            return None
        label = self.boxes.at(_point(self.axes, sizes))
        return None if label == _NONE else self.programs[label]

    def all(self) -> Iterator[tuple[Axis, str]]:
        """The sizes of every goal, with its program."""
        dense = self.boxes.expand()
        for point in zip(*np.nonzero(dense != _NONE), strict=True):
            sizes = tuple(axis[i] for axis, i in zip(self.axes, point, strict=True))
            yield sizes, self.programs[dense[point]]


@functools.lru_cache(maxsize=8)
def _grid(data: bytes) -> _Grid:
    """The contents of a row; the latest are kept, since a model asks for many goals.

    Raises:
        CodecError: the bytes cannot be read.
    """
    with refusing():
        return _Grid.read(data)


def _point(axes: tuple[Axis, ...], sizes: Axis) -> Axis:
    return tuple(axis.index(size) for axis, size in zip(axes, sizes, strict=True))


def _parsed(text: str) -> Spec | None:
    """The Spec of a row; None if the text is none, of this version."""
    try:
        return parse_spec(text, _NO_LIMITS)
    except MorelloError:
        return None


def base_of(spec: Spec) -> bytes:
    """A hash of all of a Spec but its sizes."""
    parts = str(spec.key), str(spec.limits), repr(spec.leading), repr(spec.ranges)
    return checksum_of(*(part.encode() for part in parts))


def folded(
    rows: Iterable[ProgramRow],
) -> tuple[tuple[ProgramBoxes, ...], tuple[ProgramRow, ...]]:
    """Rows in boxes, and those that are the only one of their grid, or cannot be on
    one."""
    grids: defaultdict[tuple[bytes, str], dict[Axis, ProgramRow]] = defaultdict(dict)
    rest: list[ProgramRow] = []
    for row in rows:
        spec = _parsed(row.spec)
        if spec is None:
            rest.append(row)
        else:
            grids[base_of(spec), row.family][spec.sizes] = row
    boxes = []
    for (base, family), goals in grids.items():
        programs = {sizes: row.program for sizes, row in goals.items()}
        grid = _Grid.of(programs) if len(goals) > 1 else None
        if grid is None:
            rest += goals.values()
        else:
            one = next(iter(goals.values()))
            boxes.append(ProgramBoxes(base, family, one.spec, grid.encode()))
    return tuple(boxes), tuple(rest)


def rows_of(boxes: ProgramBoxes, is_whole: bool) -> Iterator[tuple[ProgramRow, bool]]:
    """The programs of a row, each with whether it is whole; one for all if they cannot
    be read.

    Args:
        boxes: the row.
        is_whole: whether its checksum is right.
    """
    try:
        rows = tuple(boxes.rows()) if is_whole else ()
    except CodecError:
        rows = ()
    yield from ((row, True) for row in rows)
    if not rows:
        yield ProgramRow(boxes.spec, boxes.family, ""), False


def read_all(connection: sqlite3.Connection) -> tuple[tuple[ProgramRow, bool], ...]:
    """The programs that are rows, then those in boxes; and whether each is whole."""
    rows = PROGRAMS.read(connection)
    known = {row.key for row, is_whole in rows if is_whole}
    more = (
        row
        for boxes, boxes_are_whole in BOXES.read(connection)
        for row in rows_of(boxes, boxes_are_whole)
    )
    return (*rows, *(m for m in more if m[0].key not in known))


def fold(connection: sqlite3.Connection) -> None:
    """Put the programs of goals that differ in their sizes alone into boxes."""
    rows = tuple(row for row, is_whole in read_all(connection) if is_whole)
    boxes, rest = folded(rows)
    PROGRAMS.delete(connection, (row.key for row in rows))
    BOXES.write(connection, boxes)
    PROGRAMS.write(connection, rest)


def delete_programs(
    connection: sqlite3.Connection, programs: tuple[ProgramRow, ...]
) -> None:
    """Take programs out: what else is in their boxes is made rows."""
    wanted = {row.key for row in programs}
    for boxes, boxes_are_whole in BOXES.read(connection):
        rows = tuple(rows_of(boxes, boxes_are_whole))
        if any(row.key in wanted for row, _ in rows):
            BOXES.delete(connection, [(boxes.base, boxes.family)])
            PROGRAMS.write(connection, [row for row, is_whole in rows if is_whole])
    PROGRAMS.delete(connection, wanted)


def program_of(
    connection: sqlite3.Connection, spec: str, family: str
) -> ProgramRow | None:
    """The program of a goal; None if there is none, or its row is damaged.

    Args:
        spec: the text of a `ProgramRow`.
        family: as there.
    """
    row = PROGRAMS.one(connection, spec, family)
    goal = _parsed(spec) if row is None and BOXES.is_in(connection) else None
    boxes = None if goal is None else BOXES.one(connection, base_of(goal), family)
    program = None if boxes is None or goal is None else boxes.program(goal.sizes)
    return row if program is None else ProgramRow(spec, family, program)

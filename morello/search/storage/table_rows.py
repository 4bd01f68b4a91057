"""Rows of solved tables, and the statements that read and write them."""

import dataclasses

from morello.search.storage.row_tables import checksum_of
from morello.search.storage.strangers import MOST_BYTES


@dataclasses.dataclass(frozen=True)
class Row:
    """One table at rest."""

    key: bytes
    """A hash of all that the table depends on."""
    name: str
    """The key of its Specs, for people."""
    family: str
    """The target and the version of the space, as text: what `gc` goes by."""
    points: int
    boxes: int
    """Number of boxes of decisions."""
    cost_boxes: int
    decisions: bytes
    costs: bytes

    @property
    def checksum(self) -> bytes:
        """Hash of everything in the row but the costs."""
        numbers = f"{self.points} {self.boxes} {self.cost_boxes}".encode()
        name, family = self.name.encode(), self.family.encode()
        return checksum_of(self.key, name, family, numbers, self.decisions)

    @property
    def costs_checksum(self) -> bytes:
        """Hash of the costs and of their key."""
        return checksum_of(self.key, self.costs)

    @property
    def checksums(self) -> tuple[bytes, bytes]:
        """Both hashes of the row."""
        return self.checksum, self.costs_checksum


_HEAD = "name, family, points, boxes, cost_boxes, decisions"
_REST = "costs, checksum, costs_checksum"
_COLUMNS = f"key, {_HEAD}, {_REST}"
_FITS = f"length(decisions) < {MOST_BYTES} AND length(costs) < {MOST_BYTES}"
"""A row with more would be an error, and hide all others."""
GET = f"SELECT {_HEAD}, {_REST} FROM tables WHERE key = ? AND {_FITS}"
GET_DECISIONS = f"SELECT {_HEAD}, checksum FROM tables WHERE key = ? AND {_FITS}"
SELECT = f"SELECT {_COLUMNS} FROM tables WHERE {_FITS}"
_MORE = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[1:])
INSERT = (
    f"INSERT INTO tables ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    f"ON CONFLICT (key) DO UPDATE SET {_MORE} WHERE excluded.points > tables.points"
)
"""A row of more points of a table replaces one of fewer: goals need parts of tables."""


def fields_of(row: Row) -> tuple[object, ...]:
    """The values of the columns of a row."""
    return *vars(row).values(), *row.checksums


def row_of(values: tuple[object, ...]) -> tuple[Row | None, bool]:
    """A row, and whether its checksums are right; no row if its values are not of the
    right types."""
    *fields, first, second = values
    row = typed_row(tuple(fields))
    return row, row is not None and row.checksums == (first, second)


def typed_row(fields: tuple[object, ...]) -> Row | None:
    """A row of these values; None if they are not of the right types."""
    kinds = (bytes, str, str, int, int, int, bytes, bytes)
    if not all(map(isinstance, fields, kinds)):
        return None
    return Row(*fields)  # type: ignore[arg-type]

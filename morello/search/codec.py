"""A packed table as bytes, and back.

A header of JSON, its length before it, then arrays of little-endian integers, all
deflated. What is read is checked against what is expected before anything is made of
it: a table for other axes, or with actions that are not candidates, is refused.
"""

import json
import math
import struct
import zlib
from typing import Any

import numpy as np

from morello.actions import Action
from morello.search.axes import Box
from morello.search.compress import CostBoxes, LabelBoxes
from morello.search.packed import Packed
from morello.search.table import TableId

_LENGTH = struct.Struct("<I")
_LEVEL = 1
"""Of deflation: higher ones save a tenth and take thrice as long."""


class CodecError(ValueError):
    """Bytes that are not the table that was asked for."""


def encode(table: Packed) -> bytes:
    """The bytes of a table."""
    used, labels = np.unique(table.decisions.labels, return_inverse=True)
    varying = table.costs.varying
    arrays = (
        table.decisions.ends.astype("<u2"),
        labels.astype("<u2"),
        table.costs.ends.astype("<u2"),
        varying.astype("<u2"),
        table.costs.corners[_told(varying, table.costs.dims)].astype("<i8"),
    )
    header = {
        "axes": [list(axis) for axis in table.box.axes],
        "actions": [str(table.actions[label]) for label in used.tolist()],
        "counts": [array.size for array in arrays],
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    body = b"".join(array.tobytes() for array in arrays)
    return zlib.compress(_LENGTH.pack(len(text)) + text + body, _LEVEL)


def decode(
    data: bytes, identity: TableId, box: Box, actions: tuple[Action, ...]
) -> Packed:
    """The table in ``data``.

    Args:
        identity: of the table that is expected.
        box: its box.
        actions: the candidates on its key.

    Raises:
        CodecError: the bytes are damaged or another table's.
    """
    try:
        return _decode(data, identity, box, actions)
    except (ValueError, KeyError, IndexError, TypeError, struct.error) as error:
        raise CodecError(str(error)) from error
    except zlib.error as error:
        raise CodecError(str(error)) from error


def _decode(
    data: bytes, identity: TableId, box: Box, actions: tuple[Action, ...]
) -> Packed:
    raw = zlib.decompress(data)
    start = _LENGTH.size + _LENGTH.unpack_from(raw)[0]
    header = json.loads(raw[_LENGTH.size : start])
    if header["axes"] != [list(axis) for axis in box.axes]:
        raise CodecError("the axes are others")
    rank, dims = len(box.axes), len(box.sizes)
    kinds = ("<u2", "<u2", "<u2", "<u2", "<i8")
    arrays = []
    for kind, count in zip(kinds, header["counts"], strict=True):
        arrays.append(np.frombuffer(raw, kind, count, start))
        start += arrays[-1].nbytes
    if start != len(raw):
        raise CodecError("the length is wrong")
    ends, labels, cost_ends, varying, told = arrays
    places = {str(action): i for i, action in enumerate(actions)}
    known = np.asarray([places[text] for text in header["actions"]], np.int32)
    decisions = LabelBoxes(
        box.shape, _ends(ends, rank), known[labels] if known.size else _NONE
    )
    corners = _corners(varying.astype(np.int64), told, dims)
    costs = CostBoxes(box.axes, dims, _ends(cost_ends, rank), corners)
    _check(box, decisions.ends, len(labels))
    _check(box, costs.ends, len(corners))
    return Packed(identity, box, actions, decisions, costs)


def summary(data: bytes) -> tuple[int, int, int]:
    """Of the bytes of a table: its points, boxes of decisions and boxes of costs.

    Raises:
        CodecError: the bytes are damaged.
    """
    try:
        raw = zlib.decompress(data)
        start = _LENGTH.size + _LENGTH.unpack_from(raw)[0]
        header = json.loads(raw[_LENGTH.size : start])
        points = math.prod(len(axis) for axis in header["axes"])
        return points, int(header["counts"][1]), int(header["counts"][3])
    except (ValueError, KeyError, IndexError, TypeError, struct.error) as error:
        raise CodecError(str(error)) from error
    except zlib.error as error:
        raise CodecError(str(error)) from error


_NONE = np.empty(0, np.int32)


def _ends(flat: Any, rank: int) -> Any:
    return np.ascontiguousarray(flat.reshape(-1, 2, rank), np.int32)


def _check(box: Box, ends: Any, count: int) -> None:
    """Boxes are written to memory: none may leave the table."""
    inside = (ends[:, 0] < ends[:, 1]) & (ends[:, 1] <= np.asarray(box.shape))
    if len(ends) != count or not inside.all():
        raise CodecError("a box is not in the table")


def _told(varying: Any, dims: int) -> Any:
    """Which corners are written: those on no upper end of an axis that does not vary.

    n x 2^dims booleans.
    """
    corners = np.arange(1 << dims)
    told: Any = (corners[None, :] & ~varying[:, None]) == 0
    return told


def _corners(varying: Any, told: Any, dims: int) -> Any:
    """All corners from those that are written."""
    mask = _told(varying, dims)
    if int(mask.sum()) != told.size:
        raise CodecError("the number of costs is wrong")
    corners = np.zeros(mask.shape, np.int64)
    corners[mask] = told
    source = np.arange(1 << dims)[None, :] & varying[:, None]
    return np.ascontiguousarray(np.take_along_axis(corners, source, axis=1))

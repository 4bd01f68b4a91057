"""Arrays of integers with a header, as bytes, and back: `encode_part`, `read_part`.

What is read may be a stranger's: it is inflated to no more than a table can have, and
whatever is wrong with it is a `CodecError`.
"""

import contextlib
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.search.storage.strangers import MOST_BYTES, bounded_json

_LENGTH = struct.Struct("<I")
_HEADER_BYTES = 1 << 24
"""Maximum bytes of a header: axes, and some thousands of actions at most."""
FAST = 1
"""Level of deflation of tables: higher ones save a tenth and take thrice as long."""
SMALL = 9
"""Level of deflation of what is written once and read often."""


class CodecError(ValueError):
    """Bytes that are not the table that was asked for."""


def encode_part(header: dict[str, Any], *arrays: Any, level: int = FAST) -> bytes:
    """A header and arrays as bytes.

    Args:
        header: what JSON can have.
        arrays: of little-endian integers.
        level: of deflation.
    """
    described = {**header, "counts": [array.size for array in arrays]}
    text = json.dumps(described, separators=(",", ":")).encode()
    body = b"".join(array.tobytes() for array in arrays)
    return zlib.compress(_LENGTH.pack(len(text)) + text + body, level)


def read_part(data: bytes, kinds: tuple[str, ...]) -> tuple[dict[str, Any], list[Any]]:
    """The header of a part, and its arrays; within `refusing`.

    Args:
        data: what `encode_part` gave.
        kinds: the dtype of each array, as NumPy names it.
    """
    raw = _inflated(data)
    length = _LENGTH.unpack_from(raw)[0]
    if length > _HEADER_BYTES:
        raise CodecError("the header is too long")
    start = _LENGTH.size + length
    header = bounded_json(raw[_LENGTH.size : start])
    arrays = []
    for kind, count in zip(kinds, header["counts"], strict=True):
        if type(count) is not int or count < 0:
            raise CodecError(f"{count!r} is no count")
        arrays.append(np.frombuffer(raw, kind, count, start))
        start += arrays[-1].nbytes
    if start != len(raw):
        raise CodecError("the length is wrong")
    return header, arrays


def _inflated(data: bytes) -> bytes:
    """The bytes that were deflated, at most `MOST_BYTES`: few bytes can stand for any
    number of them."""
    stream = zlib.decompressobj()
    raw = stream.decompress(data, MOST_BYTES)
    if not stream.eof or stream.unused_data:
        raise CodecError("it is cut off, or longer than any table")
    return raw


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Make a `CodecError` of every error that odd bytes lead to."""
    try:
        yield
    except (*_WRONG, zlib.error, struct.error) as error:
        raise CodecError(str(error)) from error


_WRONG = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    MemoryError,
)
"""Errors of Python on JSON and numbers of another format."""

"""Arrays of integers with a header, as bytes, and back: `encode_part`, `read_part`.

What is read may be a stranger's: it is inflated to no more than a table can have, and
whatever is wrong with it is a `CodecError`.
"""

import contextlib
import struct
import zlib
from collections.abc import Iterator, Mapping
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


_LEAST_WINDOW = 9
"""Binary logarithm of the bytes of the least window of zlib, of 256 for level 1."""


class CodecError(ValueError):
    """Bytes that are not the table that was asked for."""


def encode_part(header: Mapping[str, str], *arrays: Any, level: int = FAST) -> bytes:
    """A header and arrays as bytes.

    Args:
        header: fields, as JSON.
        arrays: of little-endian integers.
        level: of deflation.
    """
    counts = ",".join(str(array.size) for array in arrays)
    fields = (*header.items(), ("counts", f"[{counts}]"))
    text = ",".join(f'"{name}":{value}' for name, value in fields).encode()
    body = b"".join(array.tobytes() for array in arrays)
    return _deflated(_LENGTH.pack(len(text) + 2) + b"{" + text + b"}" + body, level)


def _deflated(data: bytes, level: int) -> bytes:
    """Bytes, deflated with a window that has them all: one for more takes as long to
    make as what most tables have to deflate."""
    window = min(max(len(data).bit_length(), _LEAST_WINDOW), zlib.MAX_WBITS)
    memory = min(window - _LEAST_WINDOW + 2, zlib.DEF_MEM_LEVEL)
    stream = zlib.compressobj(level, zlib.DEFLATED, window, memory)
    return stream.compress(data) + stream.flush()


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

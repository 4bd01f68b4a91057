"""The data that the machine code of a call reads: a table of words a function."""

import ctypes
import enum
import os
import sys
import weakref
from typing import Any

import numpy as np

from morello.machine.processors import processors
from morello.runtime import foreign_types
from morello.runtime.array_layout import ALIGNED, WRITEABLE
from morello.runtime.parameter import Parameter

ALIGNMENT = 64
"""Bytes that a workspace is aligned to; a cache line, and the widest vector."""

_HUGE_PAGE = 1 << 21
"""Bytes. A workspace of at least one lies on them, which spares misses of the TLB."""


class Word(enum.IntEnum):
    """Index of each entry of a table, in words of 8 bytes."""

    NATIVE = 0
    """Address of the native function."""
    WORKSPACE_SIZE = 1
    """Bytes, a multiple of the alignment."""
    WORKSPACE_ALIGNMENT = 2
    """Bytes."""
    THREADS = 3
    """The most that a call uses."""
    PROCESSORS = 4
    """Processors that this process may use."""
    BUSY = 5
    """Address of the number of threads that are in native functions with threads."""
    SLOTS = 8
    """From here on: workspaces that no call uses now, or 0."""
    ARRAY_TYPE = 16
    """Address of ``numpy.ndarray``; slots end before it."""
    OUT = 17
    """Address of the interned string ``out``."""
    FOREIGN_TYPES = 18
    """Address of the table of types of other libraries (`foreign_types`)."""
    ENTRIES = 19
    """From here on: for each parameter the address of its entry.

    An entry has: address of the dtype; flags that must be set; bytes of the elements;
    number of forms; bytes of a row; number of rows but the first; bytes of an element;
    the dtype as DLPack has it; its letter in the buffer protocol; its ``typestr``; then
    for each form its rank, its sizes, and its strides in bytes, which do not matter
    where a size is 1, and may be `ANY_ROW`.
    """


FORMS = 10
"""Index of the first form in an entry."""

ANY_ROW = -1
"""In the place of a stride: bytes from row to row, of which there may be any number."""

_NO_STRIDE = 0
"""No array has this from one of several indices to the next."""


_OUT = sys.intern("out")

_busy = ctypes.c_int64(0)
"""Threads in native functions that have threads; of the process."""


def _nobody_is_busy() -> None:
    """The initial state of a process: threads do not survive a fork."""
    _busy.value = 0


os.register_at_fork(after_in_child=_nobody_is_busy)

_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class CallTable:
    """The table of one native function; it owns the function's workspaces.

    Calls take a workspace from a slot, or make one, and put it back; so there are as
    many as calls have run at the same time, but no more than slots are kept.

    Args:
        native: address of the function.
        parameters: its arrays.
        workspace_bytes: 0 for none.
        threads: the most that a call uses.
    """

    def __init__(
        self,
        native: int,
        parameters: tuple[Parameter, ...],
        workspace_bytes: int,
        threads: int = 1,
    ) -> None:
        self.parameters = parameters
        """Kept: the table has the addresses of their dtypes."""
        entries = [_entry(parameter) for parameter in parameters]
        starts = np.cumsum([Word.ENTRIES + len(entries), *map(len, entries)])
        self.words = np.zeros(int(starts[-1]), np.int64)
        """The table; it does not move."""
        self.address = int(self.words.ctypes.data)
        alignment = _HUGE_PAGE if workspace_bytes >= _HUGE_PAGE else ALIGNMENT
        self.words[Word.NATIVE] = native
        self.words[Word.WORKSPACE_ALIGNMENT] = alignment
        self.words[Word.WORKSPACE_SIZE] = workspace_bytes + -workspace_bytes % alignment
        self.words[Word.THREADS] = threads
        self.words[Word.PROCESSORS] = processors()
        self.words[Word.BUSY] = ctypes.addressof(_busy)
        self.words[Word.ARRAY_TYPE] = id(np.ndarray)
        self.words[Word.OUT] = id(_OUT)
        self.words[Word.FOREIGN_TYPES] = foreign_types.address
        for i, (entry, start) in enumerate(zip(entries, starts, strict=False)):
            self.words[Word.ENTRIES + i] = self.address + 8 * int(start)
            self.words[start : start + len(entry)] = entry
        if workspace_bytes:
            weakref.finalize(self, _free_workspaces, self.words).atexit = False


def _entry(parameter: Parameter) -> list[int]:
    """The checked fields of one argument; see `Word.ENTRIES`."""
    flags = ALIGNED | (WRITEABLE if parameter.is_output else 0)
    forms, size = parameter.forms, parameter.dtype.itemsize
    entry = [id(parameter.dtype), flags, parameter.nbytes, len(forms)]
    entry += [parameter.row[0], parameter.rows - 1, size]
    entry += [foreign_types.dtype_word(parameter.dtype)]
    entry += [foreign_types.buffer_format(parameter.dtype)]
    entry += [foreign_types.typestr_word(parameter.dtype)]
    row = parameter.any_row * size
    for shape, strides in forms:
        if row:  # batches follow each other: that is for the slow way to find out
            by_row = {size: size, row: ANY_ROW}
            strides = tuple(by_row.get(stride, _NO_STRIDE) for stride in strides)
        entry += [len(shape), *shape, *strides]
    return entry


def _free_workspaces(words: np.ndarray[Any, Any]) -> None:
    """Free what lies in the slots; no call is running any more."""
    for slot in range(Word.SLOTS, Word.ARRAY_TYPE):
        _free(int(words[slot]))

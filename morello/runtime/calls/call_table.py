"""The data that the C code of a call reads: a table for each native function."""

import ctypes
import functools
import weakref
from typing import Any

import numpy as np
from llvmlite import ir

from morello.machine.processors import processors
from morello.runtime.calls.array_layout import ALIGNED, WRITEABLE
from morello.runtime.calls.call_size import call_sizes
from morello.runtime.calls.glue import (
    MOST_ARGUMENTS,
    SLOTS,
    Entry,
    Table,
    loaded,
    use_openmp,
)
from morello.runtime.calls.parameter import Parameter
from morello.runtime.element_types import buffer_format, dlpack_word, typestr_word

ALIGNMENT = 64
"""Bytes that a workspace is aligned to; a cache line, and the widest vector."""

_HUGE_PAGE = 1 << 21
"""Bytes. A workspace of at least one lies on them, which spares misses of the TLB."""

_ANY_ROW = -1
"""In the place of a stride: bytes from row to row, of which there may be any number."""

_GAPLESS = -2
"""In the place of a stride: that of an array without gaps."""

ANY_SIZE = -1
"""In the place of a size: the first that each call says; less by one: the next."""

_NO_STRIDE = 0
"""A stride that no array of several elements has."""

_WORD = 8

_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class CallTable:
    """The table of one native function; it owns the function's workspaces.

    Calls take a workspace from a slot, or make one, and put it back; so there are as
    many as calls have run at the same time, but no more than slots are kept.

    Args:
        native: address of the function. It takes its arrays, its workspace if it has
            one, the sizes that a call says, and the elements from row to row of each
            array that may have any.
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
        self.has_workspace = workspace_bytes > 0
        self.parameters = parameters
        """Kept: the table has the addresses of their dtypes."""
        entries = [_entry(parameter) for parameter in parameters]
        first = ctypes.sizeof(Table) // _WORD
        starts = np.cumsum([first + len(entries), *map(len, entries)])
        self.words = np.zeros(int(starts[-1]), np.int64)
        """The table; it does not move."""
        self.address = int(self.words.ctypes.data)
        self.words[first : first + len(entries)] = self.address + _WORD * starts[:-1]
        self.words[starts[0] :] = np.concatenate(entries) if entries else ()
        self.head = Table.from_buffer(self.words.data)
        """The beginning of the table."""
        self._fill(native, workspace_bytes, threads)
        if workspace_bytes:
            weakref.finalize(self, _free_workspaces, self.head).atexit = False

    def _fill(self, native: int, workspace_bytes: int, threads: int) -> None:
        head, arrays = self.head, len(self.parameters)
        head.native, head.arrays = native, arrays
        sizes = call_sizes(self.parameters)
        every = sizes.axes if sizes is not None else ()
        head.varying, head.rows = len(every), arrays + self.has_workspace + len(every)
        for axis, limits in zip(every, head.sizes, strict=False):
            limits.least, limits.greatest = axis.sizes[0], axis.sizes[-1]
            limits.step = axis.sizes.step
        head.arguments = head.rows + sum(p.any_row > 0 for p in self.parameters)
        if head.arguments > MOST_ARGUMENTS:
            head.spread = _spread(head.arguments)
        alignment = _HUGE_PAGE if workspace_bytes >= _HUGE_PAGE else ALIGNMENT
        head.workspace_alignment = alignment
        head.workspace_bytes = workspace_bytes + -workspace_bytes % alignment
        head.threads, head.processors = threads, processors()
        if threads > 1:
            use_openmp()

    def arguments(self, addresses: list[int]) -> list[int]:
        """The words of a call: addresses, and room for the workspace before what
        follows the arrays."""
        if not self.has_workspace:
            return addresses
        arrays = len(self.parameters)
        return [*addresses[:arrays], 0, *addresses[arrays:]]


def _entry(parameter: Parameter) -> np.ndarray[Any, Any]:
    """The words of one array: an `Entry`, then its forms."""
    dtype, forms = parameter.dtype, []
    row = parameter.any_row * dtype.itemsize
    for shape, strides in parameter.forms:
        for place, number in parameter.places_in(shape).items():
            strides = (_GAPLESS,) * len(shape)
            shape = (*shape[:place], ANY_SIZE - number, *shape[place + 1 :])
        if row:  # batches follow each other: that is for the slow way to find out
            by_row = {dtype.itemsize: dtype.itemsize, row: _ANY_ROW}
            strides = tuple(by_row.get(stride, _NO_STRIDE) for stride in strides)
        forms += [len(shape), *shape, *strides]
    entry = Entry(
        dtype=id(dtype),
        flags=ALIGNED | (WRITEABLE if parameter.is_output else 0),
        bytes=parameter.nbytes,
        any_row=row > 0,
        row_bytes=parameter.row[0],
        other_rows=parameter.rows - 1,
        itemsize=dtype.itemsize,
        varies=len(parameter.sizes) > 0,
        dlpack=dlpack_word(dtype),
        format=buffer_format(dtype),
        typestr=typestr_word(dtype),
        count=len(parameter.forms),
    )
    return np.append(np.frombuffer(bytes(entry), np.int64), np.array(forms, np.int64))


@functools.cache
def _spread(count: int) -> int:
    """Address of a function that calls a native function on so many words."""
    module, word = ir.Module("spread"), ir.IntType(64)
    native = ir.FunctionType(ir.VoidType(), [word] * count).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [native, word.as_pointer()])
    function = ir.Function(module, kind, "spread")
    code = ir.IRBuilder(function.append_basic_block())
    places = [code.gep(function.args[1], [word(i)]) for i in range(count)]
    code.call(function.args[0], [code.load(place) for place in places])
    code.ret_void()
    return loaded(str(module), 1).address("spread")


def _free_workspaces(head: Table) -> None:
    """Free what lies in the slots; no call is running any more."""
    for slot in range(SLOTS):
        _free(head.slots[slot])

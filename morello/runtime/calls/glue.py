"""The code around native functions: C in the folder ``c``, as LLVM IR.

`process` gives the data that the code keeps for the process, and loads `call_code`
first. What only some calls need is loaded when it is needed: ``foreign`` for arrays of
other libraries, ``team`` for threads, ``xla`` for JAX. The structures here are those of
``c/table.h``, which says what they hold.
"""

import ctypes
import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as lb
import numpy as np

from morello.errors import CompileError
from morello.python_api import python_function
from morello.runtime.calls import array_layout
from morello.runtime.engine import Engine, compile_optimised

SLOTS = 8
"""Workspaces that a native function keeps for later calls."""

MOST_SIZES = 2
"""Sizes that a call may say."""

TYPES = 16
"""Types of other libraries that calls may know."""

MOST_ARGUMENTS = 6
"""Arguments of a native function up to which the C code passes them itself."""

FOLDER = Path(__file__).with_name("c")
"""The C code, and beside it the LLVM IR that was made of it."""

_LEVELS = ("omp_get_max_active_levels", "omp_set_max_active_levels")
_OUT = sys.intern("out")

keep_for_ever = python_function("Py_IncRef", None, ctypes.py_object)
"""Keeps an object until the process ends: later than any cache of a module does."""


class Type(ctypes.Structure):
    """A type of another library."""

    _fields_ = (
        ("type", ctypes.c_void_p),
        ("describe", ctypes.c_void_p),
        ("may_write", ctypes.c_int64),
        ("gradient", ctypes.c_void_p),
        ("is_negated", ctypes.c_void_p),
        ("is_recording", ctypes.c_void_p),
        ("names", ctypes.c_void_p),
    )


class Process(ctypes.Structure):
    """The data of the process."""

    _fields_ = (
        ("sizes", ctypes.c_int64 * 4),
        ("header", ctypes.c_int64),
        ("array", ctypes.c_void_p),
        ("integer", ctypes.c_void_p),
        ("falsehood", ctypes.c_void_p),
        ("none", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("view", ctypes.c_void_p),
        ("run", ctypes.c_void_p),
        ("levels", ctypes.c_void_p),
        ("set_levels", ctypes.c_void_p),
        ("busy", ctypes.c_int64),
        ("types", ctypes.c_int64),
        ("type", Type * TYPES),
    )


class Size(ctypes.Structure):
    """The limits of a size that a call says."""

    _fields_ = (
        ("least", ctypes.c_int64),
        ("greatest", ctypes.c_int64),
        ("step", ctypes.c_int64),
    )


class Table(ctypes.Structure):
    """The data of a native function, before the addresses of the entries."""

    _fields_ = (
        ("native", ctypes.c_void_p),
        ("spread", ctypes.c_void_p),
        ("arrays", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("arguments", ctypes.c_int64),
        ("workspace_bytes", ctypes.c_int64),
        ("workspace_alignment", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("processors", ctypes.c_int64),
        ("varying", ctypes.c_int64),
        ("sizes", Size * MOST_SIZES),
        ("slots", ctypes.c_int64 * SLOTS),
    )


class Entry(ctypes.Structure):
    """The data of an array, before the forms that are taken."""

    _fields_ = (
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("any_row", ctypes.c_int64),
        ("row_bytes", ctypes.c_int64),
        ("other_rows", ctypes.c_int64),
        ("itemsize", ctypes.c_int64),
        ("varies", ctypes.c_int64),
        ("dlpack", ctypes.c_int64),
        ("format", ctypes.c_int64),
        ("typestr", ctypes.c_int64),
        ("count", ctypes.c_int64),
    )


def loaded(text: str, opt: int = 0) -> Engine:
    """Code that is called until the process ends, and not freed before."""
    engine = compile_optimised(text, opt)
    keep_for_ever(engine)
    return engine


_codes: dict[str, Engine] = {}


def code(name: str, opt: int = 0) -> Engine:
    """The code of a file of C. It has data, so all threads get one and the same."""
    engine = _codes.get(name)
    if engine is None:
        # Two threads may compile it at a time; a lock would be held in a fork.
        text = (FOLDER / f"{name}.ll").read_text()
        engine = _codes.setdefault(name, loaded(text, opt))
    return engine


def call_code() -> Engine:
    """The code of calls. It takes part in each, and is worth some milliseconds."""
    return code("call", 1)


@functools.cache
def process() -> Process:
    """The data of the process.

    Raises:
        CompileError: the structures here are not those of the C code.
    """
    address = ctypes.CFUNCTYPE(ctypes.c_void_p)(call_code().address("the_process"))()
    data = Process.from_address(address)
    check_sizes(data.sizes, Process, Type, Table, Entry)
    data.header = array_layout.HEADER
    data.array, data.integer = id(np.ndarray), id(int)
    data.falsehood, data.none, data.out = id(False), id(None), id(_OUT)
    os.register_at_fork(after_in_child=_nobody_is_busy)
    return data


def check_sizes(sizes: Sequence[int], *kinds: type[ctypes.Structure]) -> None:
    """Compare structures with those of C.

    Raises:
        CompileError: one has another size there.
    """
    for size, kind in zip(sizes, kinds, strict=True):
        if size != ctypes.sizeof(kind):
            raise CompileError(
                f"{kind.__name__} has {ctypes.sizeof(kind)} bytes, and {size} in C",
                f"run {FOLDER / 'build.py'}",
            )


def _nobody_is_busy() -> None:
    """The initial state of a process: threads do not survive a fork."""
    process().busy = 0


def use_openmp() -> None:
    """Let the code ask OpenMP, before a native function has threads.

    Raises:
        CompileError: there is no OpenMP in this process.
    """
    addresses = [*map(lb.address_of_symbol, _LEVELS)]
    if None in addresses:
        raise CompileError(
            f"the code calls {' and '.join(_LEVELS)}, which this process does not have",
            "load the OpenMP runtime first, or compile for one thread",
        )
    data = process()
    data.levels, data.set_levels = addresses
    data.run = code("team").address("run_in_team")

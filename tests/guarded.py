"""Arrays next to forbidden memory, and children in which a fault is a failed test.

`guarded_array` places a copy of an array flush against a page that cannot be touched,
so that the first byte read or written outside of it faults. `check_canaries` looks at
the bytes on the other side, and in the padding of rows. `check_in_child` runs a
callable in a forked process; a fault there comes back as an `AssertionError` that names
the array, the side and whether it was a read or a write.
"""

import ctypes
import faulthandler
import itertools
import mmap
import os
import pickle
import resource
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

Side = Literal["start", "end"]
Result = TypeVar("Result")

PATIENCE = 5
"""How much slower a machine with other work may be: what hangs ends before the limit of
a test."""

PROCESSORS = 2
"""That a child may keep busy."""

PAGE = mmap.PAGESIZE
CANARY = 0xA5
_PROT_NONE = 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.sigaction.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


class Guard(mmap.mmap):
    """A mapping: a forbidden page, pages of canaries with the array, a forbidden page.

    It lives as long as the array that is made in it.
    """

    name: str
    address: int
    """Of the mapping."""
    start: int
    """Of the array in it, in bytes, and its end."""
    end: int
    used: np.ndarray[Any, Any]
    """For each byte between the forbidden pages whether it is the array's."""


_guards: "weakref.WeakValueDictionary[int, Guard]" = weakref.WeakValueDictionary()


def _protect(guard: Guard, start: int, size: int, protection: int) -> None:
    if _libc.mprotect(guard.address + start, size, protection):
        raise OSError(ctypes.get_errno(), "mprotect")


def guarded_array(
    array: np.ndarray[Any, Any],
    side: Side = "end",
    writable: bool = True,
    row_padding: int = 0,
    name: str = "array",
) -> np.ndarray[Any, Any]:
    """A copy of ``array`` flush against a page that must not be touched.

    Args:
        array: what to copy; row-major in the result.
        side: where the forbidden page touches it: before its start or after its end.
        writable: else its pages are mapped read-only, and writing to it faults.
        row_padding: elements between rows, filled with canaries; the result is then
            strided. The padding of the last row is left out.
        name: for the message of a fault.
    """
    width = array.shape[-1] if array.ndim else 1
    rows = array.size // width if width else 0
    pitch = width + row_padding
    count = max(rows * pitch - row_padding, 0)
    size = count * array.itemsize
    pages = -(-size // PAGE) or 1
    guard = Guard(-1, (pages + 2) * PAGE)
    guard.name = name
    guard.address = ctypes.addressof(ctypes.c_char.from_buffer(guard))
    guard.start = PAGE if side == "start" else (pages + 1) * PAGE - size
    guard.end = guard.start + size
    memory = np.frombuffer(guard, np.uint8)
    memory[PAGE:-PAGE] = CANARY  # the forbidden pages are never touched
    strides = _padded_strides(array.shape, pitch, array.itemsize)
    result = np.ndarray(
        array.shape, array.dtype, memory[guard.start : guard.end], 0, strides
    )
    result[...] = array
    guard.used = _used_bytes(result, guard, pages * PAGE)
    _protect(guard, 0, PAGE, _PROT_NONE)
    _protect(guard, (pages + 1) * PAGE, PAGE, _PROT_NONE)
    if not writable:
        _protect(guard, PAGE, pages * PAGE, mmap.PROT_READ)
        result.flags.writeable = False
    _guards[guard.address] = guard
    return result


def _padded_strides(
    shape: tuple[int, ...], pitch: int, itemsize: int
) -> tuple[int, ...]:
    """Row-major strides in bytes with ``pitch`` elements from row to row."""
    if not shape:
        return ()
    outer = itertools.accumulate(
        reversed(shape[1:-1]), lambda a, b: a * b, initial=pitch * itemsize
    )
    return (*reversed(list(outer)), itemsize) if len(shape) > 1 else (itemsize,)


def _used_bytes(
    array: np.ndarray[Any, Any], guard: Guard, size: int
) -> np.ndarray[Any, Any]:
    """A mask of the bytes between the forbidden pages that belong to the array."""
    mask = np.zeros(size, np.bool_)
    view = np.ndarray(
        (*array.shape, array.itemsize),
        np.bool_,
        mask,
        guard.start - PAGE,
        (*array.strides, 1),
    )
    view[...] = True
    return mask


def guard_of(array: np.ndarray[Any, Any]) -> Guard:
    """The mapping that holds a guarded array or a view of one."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if not isinstance(base, Guard):
        raise TypeError("not a guarded array")
    return base


def check_canaries(array: np.ndarray[Any, Any]) -> None:
    """Fail if a byte around the array, or in its padding, has changed."""
    guard = guard_of(array)
    memory = np.frombuffer(guard, np.uint8)[PAGE:-PAGE]
    changed = np.flatnonzero((memory != CANARY) & ~guard.used)
    if changed.size:
        offset = int(changed[0]) + PAGE - guard.start
        raise AssertionError(
            f"{changed.size} bytes outside of '{guard.name}' were written, the first "
            f"at byte {offset} of an array of {guard.end - guard.start}"
        )


@dataclass(frozen=True)
class _Fault:
    """A memory fault in a child: where, and whether it was a write."""

    signal: int
    address: int
    write: bool

    def __str__(self) -> str:
        kind = "a write" if self.write else "a read"
        for guard in list(_guards.values()):
            offset = self.address - guard.address
            if not 0 <= offset < len(guard):
                continue
            at = offset - guard.start
            if offset < guard.start:
                return f"{kind} {-at} bytes before the start of '{guard.name}'"
            if offset >= guard.end:
                return (
                    f"{kind} {offset - guard.end} bytes past the end of '{guard.name}'"
                )
            return f"{kind} at byte {at} of read-only '{guard.name}'"
        return f"{kind} at {self.address:#x}, which is no guarded array"


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_SA_SIGINFO = 4
_ADDRESS_IN_SIGINFO = 16
_ERROR_IN_UCONTEXT = 40 + 19 * 8
"""The page fault's error code in the saved registers (x86-64); bit 1 is a write."""


class _SigAction(ctypes.Structure):
    """``struct sigaction`` of glibc on x86-64."""

    _fields_ = (
        ("handler", _Handler),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def _send(pipe: int, message: Any) -> NoReturn:
    """Tell the parent and end the child without any clean-up of the parent's things."""
    data = pickle.dumps(message)
    while data:
        data = data[os.write(pipe, data) :]
    os._exit(0)


def _report_faults(pipe: int) -> Any:
    """Make memory faults of this process end it with a `_Fault` to the parent."""

    def handle(number: int, info: int, context: int) -> None:
        address = ctypes.c_uint64.from_address(info + _ADDRESS_IN_SIGINFO).value
        error = ctypes.c_uint64.from_address(context + _ERROR_IN_UCONTEXT).value
        # Said here: arrays that the child has made are not known to the parent.
        _send(pipe, ("fault", str(_Fault(number, address, bool(error & 2)))))

    action = _SigAction(handler=_Handler(handle), flags=_SA_SIGINFO)
    for number in (signal.SIGSEGV, signal.SIGBUS):
        _libc.sigaction(number, ctypes.addressof(action), None)
    return action


def _child(fn: Callable[[], Any], pipe: int, seconds: int, memory: int) -> NoReturn:
    # Its handlers would print a traceback of every test that expects a fault.
    faulthandler.disable()
    keep = _report_faults(pipe)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(PATIENCE * seconds)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(
        resource.RLIMIT_CPU, (PROCESSORS * seconds, resource.RLIM_INFINITY)
    )
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _send(pipe, ("value", fn()))
    except BaseException:  # noqa: BLE001 - reported by the parent, whatever it is
        _send(pipe, ("error", traceback.format_exc()))
    finally:
        del keep


def check_in_child(
    fn: Callable[[], Result], seconds: int = 60, memory: int = 0
) -> Result:
    """Run ``fn`` in a forked process and return what it returns.

    Args:
        fn: its result must be picklable; what it changes is lost, except in shared
            memory.
        seconds: of work after which the child is ended: it may take `PATIENCE` times as
            long where it waits, and `PROCESSORS` times as much of the processors.
        memory: a limit to the child's address space in bytes; 0 for none.

    Raises:
        AssertionError: the child faulted, was ended by a signal, took too long, or
            raised an exception; says which.
    """
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():
        # A fork beside other threads; the child runs only its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(fn, write_end, seconds, memory)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not data:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if number in (signal.SIGALRM, signal.SIGXCPU):
            raise AssertionError(f"the child took longer than {seconds} s")
        raise AssertionError(
            f"the child was ended by {signal.Signals(number).name}"
            if number
            else f"the child left with code {os.waitstatus_to_exitcode(status)}"
        )
    kind, value = pickle.loads(data)
    match kind:
        case "fault":
            raise AssertionError(f"memory fault: {value}")
        case "error":
            raise AssertionError(f"in the child:\n{value}")
    result: Result = value
    return result

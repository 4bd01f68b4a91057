"""The permission of Linux to use tiles (AMX), which a process asks for once.

Tiles take 8 KiB of each thread that the system saves, signal handlers' stacks too: so
since Linux 5.16 an instruction on tiles ends a process that has not asked. Asking
concerns all threads, for good: a later ``sigaltstack`` of less than about 11 KiB is
refused. So nothing here is asked for before code with tiles is loaded.
"""

import ctypes
import errno
import functools
import os
from collections.abc import Set

from morello.errors import TargetError

TILE_FEATURES = frozenset({"amx-tile", "amx-bf16", "amx-int8"})
"""CPU features whose instructions need it."""

_CONFIGURES = "ldtilecfg"
"""An instruction that all code with tiles has."""

_ARCH_PRCTL = 158
"""The system call, of which the following are the first argument."""

_GET_SUPPORTED, _REQUEST = 0x1021, 0x1023

_TILE_DATA = 18
"""The number of the state in XCR0."""

_OTHERWISE = "compile for a target without them: avx512-vnni-bf16"

_REFUSALS = {
    errno.ENOSPC: (
        "a thread has a stack for signal handlers (sigaltstack) too small for them",
        "give it 16 KiB, or load this code before it is there",
    ),
    errno.EPERM: (
        "a rule of its container forbids arch_prctl",
        f"allow it, or {_OTHERWISE}",
    ),
    errno.EOPNOTSUPP: ("it was started without them", _OTHERWISE),
    errno.EINVAL: ("its kernel does not know them", "use Linux 5.16 or later"),
}
"""By errno, why it is refused, and what to do."""


def withheld() -> frozenset[str]:
    """The features that the system lets no process use, whatever the CPU has."""
    return frozenset() if _is_supported() else TILE_FEATURES


@functools.cache
def _is_supported() -> bool:
    mask = ctypes.c_uint64(0)
    failed = _arch_prctl(_GET_SUPPORTED, ctypes.addressof(mask))
    return not failed and bool(mask.value >> _TILE_DATA & 1)


def used(features: frozenset[str], llvm: str) -> frozenset[str]:
    """The features that a module of LLVM IR needs, of those that it may use: without a
    tile it needs none of these, nor their permission."""
    return features if _CONFIGURES in llvm else features - TILE_FEATURES


def permit(features: Set[str]) -> None:
    """Ask for permission, if features need it.

    Raises:
        TargetError: it is refused.
    """
    if TILE_FEATURES & features:
        _request()


@functools.cache
def _request() -> None:
    """Ask; only an answer that grants it is kept."""
    code = _arch_prctl(_REQUEST, _TILE_DATA)
    if code:
        reason, remedy = _REFUSALS.get(code, (os.strerror(code), _OTHERWISE))
        raise TargetError(
            f"the system does not permit this process to use tiles (AMX): {reason}",
            remedy,
        )


def _arch_prctl(request: int, argument: int) -> int:
    """The errno of a call; 0 if it succeeds."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long]
    libc.syscall.restype = ctypes.c_long
    failed = libc.syscall(_ARCH_PRCTL, request, argument)
    return ctypes.get_errno() if failed else 0

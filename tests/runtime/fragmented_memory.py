"""A program whose free address space is fragmented.

`test_fragmented_memory.py` runs it in a process of its own, since its mappings stay.
It loads code with and without calls where no two free pages are within 2 GiB, and
where only small gaps are free.
"""

import ctypes
import mmap

import numpy as np

from morello.runtime.engine import compile_llvm
from morello.runtime.openmp import openmp_library
from tests.runtime.build import raw
from tests.runtime.calls.test_teams import REGION

GIB = 1 << 30
PAGE = mmap.PAGESIZE
_FAILED = ctypes.c_void_p(-1).value
_NO_ACCESS, _PRIVATE_ANONYMOUS_NORESERVE = 0, 0x4022
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4

_libc = ctypes.CDLL(None)
_libc.mmap.restype = _libc.malloc.restype = ctypes.c_void_p
_INTS = ctypes.c_int, ctypes.c_int, ctypes.c_int
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *_INTS, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]

_VALUES = ", ".join(f"float {i}.5" for i in range(8))
CONSTANTS = f"""
define void @f(ptr %a) {{
  %x = load <8 x float>, ptr %a, align 4
  %y = fadd <8 x float> %x, <{_VALUES}>
  store <8 x float> %y, ptr %a, align 4
  ret void
}}"""
CALLS = f"""
declare float @llvm.exp.f32(float)
define void @f(ptr %a) {{
  %x = load <8 x float>, ptr %a, align 4
  %y = fadd <8 x float> %x, <{_VALUES}>
  %w = extractelement <8 x float> %x, i32 0
  %e = call float @llvm.exp.f32(float %w)
  %z = insertelement <8 x float> %y, float %e, i32 0
  store <8 x float> %z, ptr %a, align 4
  ret void
}}"""


def keep_heap() -> None:
    """Give the heap memory that it does not give back, and use no other."""
    _libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    _libc.mallopt(_MMAP_MAX, 0)
    pieces = [_libc.malloc(1 << 16) for _ in range(2048)]
    for piece in pieces:
        _libc.free(piece)


def fill() -> list[tuple[int, int]]:
    """Map all that is free, without access; the starts and sizes, highest first."""
    blocks, size = [], 1 << 46
    while size >= PAGE:
        start = _libc.mmap(None, size, _NO_ACCESS, _PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
        if start == _FAILED:
            size //= 2
        else:
            blocks.append((start, size))
    return sorted(blocks, reverse=True)


def free_gaps(blocks: list[tuple[int, int]], pages: int, first: int) -> None:
    """Free a few gaps of so many pages, 3 GiB from each other."""
    start, size = max(blocks, key=lambda block: block[1])
    for i in range(first, first + 16):
        assert size > (i + 1) * 3 * GIB
        assert not _libc.munmap(start + i * 3 * GIB, pages * PAGE)


def run(text: str) -> list[float]:
    """The output of a function for zeros."""
    values = np.zeros(8, np.float32)
    raw(compile_llvm(text, cpu="haswell"))(values)
    return list(map(float, values))


def team() -> int:
    """The threads of a parallel region, compiled anew."""
    here, wanted, out = np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1, int)
    raw(compile_llvm(REGION, cpu="haswell"))(here, wanted, out)
    return int(out[0])


def main() -> None:
    """Print what each kind of code answers."""
    assert openmp_library()
    team()  # the runtime starts its threads, which need stacks
    keep_heap()
    blocks = fill()
    free_gaps(blocks, 1, 1)
    print("calls", run(CALLS)[:2], team(), flush=True)
    free_gaps(blocks, 16, 32)
    print("constants", run(CONSTANTS)[:2])


if __name__ == "__main__":
    main()

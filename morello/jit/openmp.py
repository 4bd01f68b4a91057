"""The OpenMP runtime: where it is, and bringing it into this process.

It comes with the package ``intel-openmp``, whose library lies in the environment of the
interpreter; one that the system has is taken where the package is missing.

A kernel starts as many threads as it was compiled for. Two mechanisms keep the number
of threads within the number of processors: `shared_code.py` counts the threads of the
kernels that run, and idle threads wait on the processor for only a short time.
"""

import ctypes
import ctypes.util
import functools
import importlib.metadata
import os
from pathlib import Path

import llvmlite.binding as lb

_PACKAGE = "intel-openmp"
_LIBRARY = "libiomp5.so"
_SPIN = "KMP_BLOCKTIME"
"""How many milliseconds a thread without work spins before it sleeps; a variable of the
runtime, whose default of 200 takes the processors from whatever comes after a kernel.
Within 1 a thread comes back at once, and calls in a row keep their threads."""

_SYSTEM = ("iomp5", "omp5", "omp")
"""Names that the dynamic linker may know runtimes with these entry points by."""


def load_openmp() -> bool:
    """Make the runtime known to compiled code; whether there is one."""
    return openmp_library() is not None


@functools.cache
def openmp_library() -> str | None:
    """The runtime, which compiled code knows from now on; None where there is none.

    Returns:
        The path of its file, or a name that the dynamic linker knows.
    """
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        if _SPIN not in os.environ and hasattr(library, "kmp_set_defaults"):
            library.kmp_set_defaults(f"{_SPIN}=1".encode())
        lb.load_library_permanently(path)
        return path
    return None


def _candidates() -> list[str]:
    """Where the runtime may be, best first."""
    found = []
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == _LIBRARY:
            path = Path(str(file.locate())).resolve()
            if path.exists():
                found.append(str(path))
    found += [name for n in _SYSTEM if (name := ctypes.util.find_library(n))]
    return found

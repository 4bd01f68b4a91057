"""The OpenMP runtime: where it is, and bringing it into this process.

It comes with the package ``intel-openmp``, whose library lies in the environment of the
interpreter; one that the system has is taken where the package is missing.
"""

import ctypes
import ctypes.util
import functools
import importlib.metadata
from pathlib import Path

import llvmlite.binding as lb

_PACKAGE = "intel-openmp"
_LIBRARY = "libiomp5.so"
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
            ctypes.CDLL(path)
        except OSError:
            continue
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

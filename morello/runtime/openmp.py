"""The OpenMP runtime: where it is, and bringing it into this process.

Two copies of the runtime in one process end it (``OMP: Error #15``), so one that runs
already, or else one that is loaded, comes before all others. Then comes the package
``intel-openmp``, whose library lies in the environment of the interpreter; last what
the system has.

A kernel starts as many threads as it was compiled for. Two mechanisms keep the number
of threads within the number of processors: `c/threads.c` counts the threads of the
kernels that run, and idle threads wait on the processor for only a short time.
"""

import contextlib
import ctypes
import ctypes.util
import functools
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding as lb

_PACKAGE = "intel-openmp"
_LIBRARY = "libiomp5.so"
_ENTRY = "__kmpc_fork_call"
"""Symbol that compiled code calls; GCC's runtime has none."""

_EVERY_RUNTIME = (
    "omp_get_max_active_levels",
    "omp_get_num_threads",
    "omp_get_thread_num",
    "omp_set_max_active_levels",
)
"""Functions that GCC's runtime has as well, and compiled code calls. Where PyTorch has
loaded that one they would be found first, and know nothing of kernels' threads."""

_SPIN = "KMP_BLOCKTIME"
"""How many milliseconds a thread without work spins before it sleeps; a variable of the
runtime, whose default of 200 takes the processors from whatever comes after a kernel.
Within 1 a thread comes back at once, and calls in a row keep their threads."""

_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY")
"""Variables by which the runtime binds threads to processors, the one that calls a
kernel too. It would stay bound after the call, and what asks for the processors of this
process would find one."""

_SYSTEM = ("iomp5", "omp5", "omp")
"""Names that the dynamic linker may know runtimes with these entry points by."""

_LOADED = re.compile(r"lib(iomp5|omp5?)[-.\w]*\.so[.\d]*")
"""Names of their files; packages add a hash: ``libomp-1a2b3c.so``."""


def load_openmp() -> bool:
    """Make the runtime known to compiled code; whether there is one."""
    return openmp_library() is not None


@functools.cache
def openmp_library() -> str | None:
    """The runtime, which compiled code knows from now on; None where there is none.

    Returns:
        The path of its file, or a name that the dynamic linker knows.
    """
    for path in (*_running(), *_loaded()):
        if _load(path) is not None:
            return path  # its settings are those of whoever brought it
    for path in _installed():
        with _unbound():  # it may read them at any of these calls
            library = _load(path)
            if library is not None:
                _begin(library)
                return path
    return None


def _load(path: str) -> Any:
    """The library, known to compiled code; None if it is no runtime."""
    try:
        library = ctypes.CDLL(path)
        if not hasattr(library, _ENTRY):
            return None
        lb.load_library_permanently(path)
        for name in _EVERY_RUNTIME:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            lb.add_symbol(name, address)
    except (OSError, RuntimeError):
        return None
    return library


def _begin(library: Any) -> None:
    """Let the runtime read its settings; in a child it does so amid the fork."""
    if _SPIN not in os.environ and hasattr(library, "kmp_set_defaults"):
        library.kmp_set_defaults(f"{_SPIN}=1".encode())
    library.omp_get_max_threads()
    os.register_at_fork(before=_hide, after_in_parent=_show, after_in_child=_show)


@contextmanager
def _unbound() -> Iterator[None]:
    """Take `_BINDING` from what C sees of the environment; Python's view stays."""
    _hide()
    try:
        yield
    finally:
        _show()


def _hide() -> None:
    for name in _BINDING:
        if name in os.environ:
            os.unsetenv(name)


def _show() -> None:
    for name in _BINDING:
        if name in os.environ:
            os.putenv(name, os.environ[name])


def _installed() -> Iterator[str]:
    """Search for runtimes that are not in this process, best first."""
    usual = Path(sys.prefix, "lib", _LIBRARY)
    if usual.exists():
        yield str(usual.resolve())
    import importlib.metadata  # takes as long as all of NumPy's core

    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files(_PACKAGE) or []:
            if file.name == _LIBRARY:
                path = Path(str(file.locate())).resolve()
                if path.exists():
                    yield str(path)
    for name in _SYSTEM:
        # It starts programs, and fails with whatever these make it fail with.
        library = None
        with contextlib.suppress(Exception):
            library = ctypes.util.find_library(name)
        if library:
            yield library


class _Place(ctypes.Structure):
    """Result of ``dladdr`` for an address."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _running() -> Iterator[str]:
    """The file of the runtime that has registered itself as that of this process.

    It does so when it is first used: by a word of its own, whose address is in a file
    of shared memory, or in the environment where there is none.
    """
    name = f"__KMP_REGISTERED_LIB_{os.getpid()}_{os.getuid()}"
    process = ctypes.CDLL(None)
    process.getenv.restype = ctypes.c_char_p
    registered = process.getenv(name.encode()) or b""
    with contextlib.suppress(OSError):
        registered = (Path("/dev/shm") / name).read_bytes()
    if word := re.match(rb"0x([0-9a-f]+)-", registered):
        place = _Place()
        if process.dladdr(ctypes.c_void_p(int(word[1], 16)), ctypes.byref(place)):
            yield os.fsdecode(place.file or b"")


class _Module(ctypes.Structure):
    """The beginning of what ``dl_iterate_phdr`` tells of a loaded file."""

    _fields_ = (("base", ctypes.c_void_p), ("name", ctypes.c_char_p))


def _loaded() -> list[str]:
    """The files of runtimes that are in this process, in the order of their loading."""
    names: list[str] = []

    def visit(module: Any, size: int, data: Any) -> int:
        name = os.fsdecode(module.contents.name or b"")
        if _LOADED.fullmatch(Path(name).name):
            names.append(name)
        return 0

    kinds = ctypes.POINTER(_Module), ctypes.c_size_t, ctypes.c_void_p
    ctypes.CDLL(None).dl_iterate_phdr(ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(visit), 0)
    return names

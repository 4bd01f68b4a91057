"""Which OpenMP runtime a process gets, and what it leaves alone.

Each case is a new process: a runtime stays.
"""

import ctypes
import os
from pathlib import Path

import pytest

from morello.runtime import openmp
from morello.runtime.openmp import openmp_library
from tests.child import printed

KERNEL = """
import numpy as np
import morello
kernel = morello.compile("fill:64x64", target="avx2{fork=1000,relayouts=0}", threads=2)
assert kernel.threads == 2
assert (kernel() == 0).all()
from morello.runtime.openmp import openmp_library
print(openmp_library())
"""

COPIES = """
import ctypes, os, shutil, sys, tempfile
from morello.runtime.openmp import _installed
library = next(iter(_installed()))
folder = tempfile.mkdtemp()
paths = [shutil.copy(library, os.path.join(folder, name)) for name in NAMES]
loaded = [ctypes.CDLL(path) for path in paths]
for number in USED: loaded[number].omp_get_max_threads()
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("names", "used", "name"),
    [
        (["libiomp5.so"], [0], "libiomp5.so"),
        (["libiomp5.so"], [], "libiomp5.so"),
        (["libomp-1a2b3c.so.5"], [0], "libomp-1a2b3c.so.5"),
        (["runtime.so"], [0], "runtime.so"),
        (["libiomp5.so", "libomp.so"], [1], "libomp.so"),
    ],
)
def test_a_runtime_that_is_there_is_used(
    names: list[str], used: list[int], name: str
) -> None:
    """Two that are used would end the process."""
    head = f"NAMES, USED = {names}, {used}\n"
    tail = "shutil.rmtree(folder)\n"
    path = printed(head + COPIES + KERNEL + tail)
    assert os.path.basename(path) == name  # noqa: PTH119
    assert path != openmp_library()


BINDING = {
    "OMP_PROC_BIND": "true",
    "OMP_PLACES": "cores",
    "KMP_AFFINITY": "compact",
    "GOMP_CPU_AFFINITY": "0",
}


def test_no_thread_is_bound() -> None:
    """Neither the one that calls, nor in a child; other programs see the variables.

    Any of them binds, whatever the others say.
    """
    code = f"""
import os, subprocess, sys
before = os.sched_getaffinity(0)
{KERNEL}
assert os.sched_getaffinity(0) == before
child = os.fork()
if child == 0:
    kernel()
    os._exit(os.sched_getaffinity(0) != before)
assert os.waitpid(child, 0)[1] == 0
shown = "import os; print(*map(os.environ.get, {list(BINDING)}))"
seen = subprocess.check_output([sys.executable, "-c", shown], text=True)
assert seen.split() == {list(BINDING.values())}
"""
    printed(code, **BINDING)


def test_no_program_is_started() -> None:
    code = """
import subprocess
def refuse(*args, **kwargs): raise AssertionError(args)
subprocess.Popen.__init__ = refuse
from morello.runtime.openmp import openmp_library
assert openmp_library()
"""
    printed(code)


def test_a_search_of_the_system_that_fails_does_no_harm() -> None:
    code = """
import ctypes.util, importlib.metadata, sys
sys.prefix = "/nowhere"
def broken(name): raise FileNotFoundError(2, "No such file", b"liblibomp.a")
def missing(name): raise importlib.metadata.PackageNotFoundError(name)
ctypes.util.find_library = broken
importlib.metadata.files = missing
import warnings
import morello
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    kernel = morello.compile("fill:64x64", target="avx2{fork=1000}", threads=2)
assert kernel.threads == 1
assert "no OpenMP runtime was found" in str(said[0].message)
print(said[0].filename)
"""
    assert printed(code) == "<string>"


def test_no_folder_for_temporary_files_is_needed() -> None:
    code = """
import tempfile
def nothing(): raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.gettempdir = tempfile._get_default_tempdir = nothing
"""
    printed(code + KERNEL)


def test_runtimes_are_told_from_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    names = openmp._loaded()
    assert bool(names) == openmp.load_openmp()
    assert all("omp" in Path(name).name for name in names)
    variable = f"__KMP_REGISTERED_LIB_{os.getpid()}_{os.getuid()}"
    address = ctypes.cast(ctypes.CDLL(None).getenv, ctypes.c_void_p).value
    monkeypatch.setattr(openmp, "Path", lambda name: Path("/nowhere"))
    assert list(openmp._running()) == []
    monkeypatch.setenv(variable, f"0x{address:x}-cafe-libomp.so")
    (running,) = openmp._running()
    assert "libc" in Path(running).name
    monkeypatch.setenv(variable, "cafe")
    assert list(openmp._running()) == []

"""The two small libraries that must be built before their peers can be used.

MKL asks a function of its own whether the CPU is Intel's, and takes slow code if not;
a library that answers yes, loaded first, lets other CPUs have the code for AVX2.
Debian's libxsmm comes as an archive, which a shared library is made of.
"""

import functools
import shutil
import subprocess
from pathlib import Path

from benchmarks.harness.backend import MissingError

_OVERRIDE = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"

_VERSION = """#include <libxsmm_config.h>
const char *const libxsmm_version = LIBXSMM_CONFIG_VERSION;
"""
_ARCHIVES = ("libxsmm.a", "libxsmmnoblas.a")


def mkl_override(folder: Path) -> Path:
    """The library that answers yes; built in ``folder`` if it is not there."""
    return _build(folder / "mkl_override.so", _OVERRIDE, [])


def libxsmm(folder: Path) -> Path:
    """libxsmm as a shared library; built in ``folder`` if it is not there."""
    archives = [_archive(name) for name in _ARCHIVES]
    whole = ["-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive"]
    return _build(folder / "libxsmm.so", _VERSION, [*whole, "-lpthread", "-lm", "-ldl"])


@functools.cache
def _compiler() -> str:
    path = shutil.which("cc")
    if not path:
        raise MissingError("no C compiler 'cc' was found to build what it needs")
    return path


def _archive(name: str) -> str:
    """Path where the linker finds an archive."""
    words = [_compiler(), f"-print-file-name={name}"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    path = done.stdout.strip()
    if not Path(path).is_absolute():
        raise MissingError(f"{name} is not installed")
    return path


def _build(library: Path, source: str, link: list[str]) -> Path:
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    words = [_compiler(), "-shared", "-fPIC", "-O1", "-x", "c", "-", "-x", "none"]
    done = subprocess.run(
        [*words, *link, "-o", str(library)],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        library.unlink(missing_ok=True)
        why = done.stderr.strip().split("\n")[-1]
        raise MissingError(f"{library.name} could not be built: {why}")
    return library

"""The system's C compiler, and kernels as shared libraries made by it."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.aot.library import Library

NEEDS_CC = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler 'cc'"
)
NEEDS_CXX = pytest.mark.skipif(
    shutil.which("c++") is None, reason="there is no C++ compiler 'c++'"
)

STRICT = ("-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The output of a command, which must succeed; tools of this Python are in PATH."""
    tools = Path(sys.executable).parent
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Linked:
    """A kernel that was linked into a shared library, called as C would.

    Args:
        library: what is linked.
        folder: for the files.
        link: what else the linker is given.
        suffix: of the file that is linked.
    """

    def __init__(
        self, library: Library, folder: Path, *link: str | Path, suffix: str = ".o"
    ) -> None:
        saved = folder / f"{library.name}{suffix}"
        library.save(saved)
        shared = folder / f"lib{library.name}.so"
        run("cc", "-shared", "-Wl,--no-undefined", "-o", shared, saved, *link)
        self._native = ctypes.CDLL(str(shared))
        self._library = library
        self.workspace_bytes = library.workspace_bytes
        self._memory = np.zeros(self.workspace_bytes + 64, np.uint8)

    @property
    def workspace(self) -> int:
        """The address of a workspace."""
        start = int(self._memory.ctypes.data)
        return start + -start % 64

    def supported(self) -> int:
        """The answer of ``<name>_supported``."""
        return int(self._native[f"{self._library.name}_supported"]())

    def pointers(self, *arrays: np.ndarray[Any, Any]) -> list[int]:
        """The arguments of a call."""
        pointers = [int(array.ctypes.data) for array in arrays]
        return [*pointers, self.workspace] if self.workspace_bytes else pointers

    def raw(self, *pointers: int, suffix: str = "") -> int:
        """Call a function with these pointers."""
        function = self._native[f"{self._library.name}{suffix}"]
        return int(function(*map(ctypes.c_void_p, pointers)))

    def __call__(self, *arrays: np.ndarray[Any, Any]) -> int:
        """Call the checked function."""
        return self.raw(*self.pointers(*arrays))

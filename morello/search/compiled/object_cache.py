"""Object files that are kept on disk, beside the sources or in the user's cache.

Beside an installed package they come last: pip leaves there what it did not install,
and a folder that is left hides a later `pip install -e`.

The name of a file says what it was made of: the sources, the versions of the compilers,
and the CPU. Its first bytes are a digest of the rest, so that half a file is no file.
"""

import functools
import hashlib
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import llvmlite.binding as lb
import numpy as np


class CachedObject:
    """The object file of a function."""

    def __init__(self, function: str) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self._function}.{_cpu()}.{_origin()}.o"

    def read(self) -> bytes | None:
        """The stored object code; None if there is none or it is damaged."""
        for folder in _folders():
            try:
                data = (folder / self.name).read_bytes()
            except OSError:
                continue
            digest, code = data[:32], data[32:]
            if hashlib.sha256(code).digest() == digest:
                return code
        return None

    def write(self, code: bytes) -> None:
        """Keep it in the first folder that can be written to, beside the sources in
        place of older ones; where there is none, each process makes its own."""
        data = hashlib.sha256(code).digest() + code
        for folder in _folders():
            try:
                self._write(folder, data)
            except OSError:
                continue
            return

    def _write(self, folder: Path, data: bytes) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # The user's cache may have those of another version, which is in use as well.
        is_checkout = folder == _beside()
        older = (
            list(folder.glob(f"{self._function}.{_cpu()}.*.o")) if is_checkout else []
        )
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        path = Path(file.name)
        path.chmod(0o644)  # whoever may read the sources may read it
        path.replace(folder / self.name)
        for old in older:
            if old.name != self.name:
                old.unlink(missing_ok=True)


def _beside() -> Path:
    """The folder beside the sources."""
    return Path(__file__).parent / "__pycache__"


def _is_checkout() -> bool:
    """Whether the sources are those of a checkout, not of an installed package."""
    return (Path(__file__).parents[3] / "pyproject.toml").exists()


def _folders() -> tuple[Path, ...]:
    """Folders that object files may be stored in, in order of preference."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = home if home.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # the user has no home
        return (_beside(),)
    folders = _beside(), home / "morello"
    return folders if _is_checkout() else folders[::-1]


@functools.cache
def _origin() -> str:
    """A digest of the sources of this package and of what compiles them."""
    digest = hashlib.sha256()
    digest.update(f"llvmlite {llvmlite.__version__} numpy {np.__version__}\n".encode())
    # Neither numba nor importlib.metadata is imported: both take long.
    numba = find_spec("numba")
    if numba is not None and numba.origin is not None:
        digest.update(Path(numba.origin).with_name("_version.py").read_bytes())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _cpu() -> str:
    """A digest of the CPU and its features, which the code is for."""
    cpu = f"{lb.get_host_cpu_name()} {lb.get_host_cpu_features().flatten()}"
    return hashlib.sha256(cpu.encode()).hexdigest()[:8]

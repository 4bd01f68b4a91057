"""The C code of calls: its LLVM IR is that of its sources, and its structures ours."""

import ctypes
import importlib.metadata
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from morello.errors import CompileError
from morello.machine.architectures import HOST
from morello.runtime.calls import glue
from morello.runtime.calls.c import build
from tests.child import python


def _compiler() -> str:
    """The version of the compiler that is installed; empty where none is."""
    try:
        return importlib.metadata.version(build.COMPILER)
    except importlib.metadata.PackageNotFoundError:
        return ""


@pytest.mark.parametrize("source", build.sources(), ids=lambda path: path.stem)
def test_the_ir_that_is_checked_in_is_that_of_the_source(source: Path) -> None:
    if _compiler() != build.VERSION:
        pytest.skip(f"needs {build.COMPILER}=={build.VERSION}, has {_compiler()!r}")
    assert source.with_suffix(".ll").read_text() == build.compiled(source)


def test_each_source_has_its_ir() -> None:
    assert build.sources()
    names = {path.stem for path in glue.FOLDER.glob("*.ll")}
    assert names == {path.stem for path in build.sources()}


def test_the_ir_names_no_machine() -> None:
    for path in glue.FOLDER.glob("*.ll"):
        text = path.read_text()
        if path.stem == HOST.names[0]:  # which asks one
            text = text.replace(" asm ", " ")
        for word in ("target ", "attributes #", "source_filename", "!dbg", " asm "):
            assert word not in text, (path, word)


def test_other_structures_are_refused() -> None:
    class Other(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int64),)

    with pytest.raises(CompileError, match="Other has 8 bytes, and 16 in C"):
        glue.check_sizes([16], Other)


def test_threads_get_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each copy has data of its own: one would not know what another was told."""
    both, load = threading.Barrier(2, timeout=60), glue.loaded

    def loaded(text: str, opt: int) -> glue.Engine:
        both.wait()
        return load(text, opt)

    monkeypatch.setattr(glue, "loaded", loaded)
    monkeypatch.setattr(glue, "_codes", {})
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(glue.code, ["team", "team"])
    assert first is second


def test_code_that_few_calls_need_is_loaded_when_it_is_needed() -> None:
    program = """
import morello, numpy as np
from morello.machine.architectures import HOST
from morello.runtime.calls import glue
loaded, load = [], glue.loaded
glue.loaded = lambda text, opt=0: loaded.append(text) or load(text, opt)
kernel = morello.compile("max:4x4:f32", threads=1, db=None)
kernel(np.ones((4, 4), np.float32))
assert len(loaded) == 1, len(loaded)
"""
    python("-c", program, check=True)

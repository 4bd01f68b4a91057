"""The machine code of the search is made once, and no damaged file of it is loaded."""

from pathlib import Path

import numpy as np
import pytest

from morello.search.compiled import compiled, object_cache
from morello.search.compiled.entries import object_code
from morello.search.compiled.object_cache import CachedObject
from morello.search.compiled.parameters import FUNCTIONS
from tests.child import printed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where objects are kept in a test: beside the sources nothing can be written."""
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(
        object_cache, "_folders", lambda: (blocked / "below", tmp_path / "cache")
    )
    return tmp_path / "cache"


def test_a_folder_that_cannot_be_written_to_is_passed_over(folder: Path) -> None:
    machine_code = CachedObject("sweep")
    assert machine_code.read() is None
    machine_code.write(b"code")
    assert machine_code.read() == b"code"
    assert [path.name for path in folder.iterdir()] == [machine_code.name]
    assert (folder / machine_code.name).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_object_is_not_loaded(folder: Path, damage: str) -> None:
    machine_code = CachedObject("sweep")
    machine_code.write(b"some code")
    path = folder / machine_code.name
    data = path.read_bytes()
    path.write_bytes(
        {"cut": data[:-1], "changed": data[:-1] + b"!", "empty": b""}[damage]
    )
    assert machine_code.read() is None


def test_an_object_of_other_sources_makes_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "_origin", lambda: "old")
    CachedObject("sweep").write(b"old")
    CachedObject("gather").write(b"another function")
    monkeypatch.undo()
    monkeypatch.setattr(object_cache, "_folders", lambda: (folder,))
    machine_code = CachedObject("sweep")
    assert machine_code.read() is None
    machine_code.write(b"new")
    assert len(list(folder.iterdir())) == 3  # another version may be in use
    monkeypatch.setattr(object_cache, "_beside", lambda: folder)
    machine_code.write(b"new")
    names = {path.name.split(".")[0] for path in folder.iterdir()}
    assert names == {"sweep", "gather"}
    assert len(list(folder.iterdir())) == 2


def test_an_installed_package_leaves_nothing_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beside = object_cache._beside()
    assert object_cache._folders()[0] == beside
    monkeypatch.setattr(object_cache, "_is_checkout", lambda: False)
    first, last = object_cache._folders()
    assert first.name == "morello"
    assert last == beside


def test_an_entry_calls_nothing_that_only_numba_has() -> None:
    from morello.runtime.object_file import undefined_symbols

    module, parameters = FUNCTIONS["sweep_counts"]
    known = {"exp2", "log2", "log1p"}
    symbols = undefined_symbols(object_code(module, "sweep_counts", parameters))
    assert set(symbols) <= known | {"_GLOBAL_OFFSET_TABLE_"}


def test_numba_is_not_imported_once_objects_are_kept() -> None:
    compiled().prepare()
    text = (
        "import sys\n"
        "from morello.machine import AVX2\n"
        "from morello.search import best_program\n"
        "from morello.spec import parse_spec\n"
        "best_program(parse_spec('matmul:2x2x2:f32', AVX2.limits), AVX2)\n"
        "print('numba' in sys.modules)\n"
    )
    assert printed(text, MORELLO_DB="none") == "False"


def test_arrays_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match="float64"):
        compiled().equal_columns(
            np.zeros((2, 2), np.int64), *np.zeros((2, 2), np.int64)
        )

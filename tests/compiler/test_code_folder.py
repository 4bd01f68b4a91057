"""The folder of machine code, as the environment names it."""

from pathlib import Path

import pytest

from morello.compiler.code_folder import code_folder, folder_beside

pytestmark = pytest.mark.quick


def test_a_folder_that_is_named_is_used_for_calls_with_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_CODE", str(tmp_path / "code"))
    assert code_folder() == tmp_path / "code"
    assert folder_beside(tmp_path / "some.db") == tmp_path / "code"
    assert folder_beside("none") is None
    monkeypatch.setenv("MORELLO_CODE", "none")
    assert code_folder() is None
    assert folder_beside(tmp_path / "some.db") is None


def test_else_it_is_beside_the_own_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MORELLO_CODE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert code_folder() == tmp_path / "morello" / "code"

"""The metadata of the package; `.ci/run` builds it and runs the installed tools."""

import importlib
import importlib.metadata
import itertools
import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

import pytest

import morello

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[=<>!~]", text)[0] for text in requirements}


def test_the_version_is_one() -> None:
    assert importlib.metadata.version("morello") == morello.__version__


def test_requirements_are_installed_and_bounded(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    for text in (*project["project"]["dependencies"], *extras["test"]):
        assert importlib.metadata.version(re.split(r"[=<>!~]", text)[0])
    every = (*project["project"]["dependencies"], *itertools.chain(*extras.values()))
    for text in every:
        assert "==" in text or "<" in text, f"{text} has no upper bound"


def test_the_bindings_are_the_pinned_ones(project: dict[str, Any]) -> None:
    (pin,) = [t for t in project["project"]["dependencies"] if "torch-mlir" in t]
    assert pin == f"torch-mlir=={importlib.metadata.version('torch-mlir')}"
    remedy = (ROOT / "morello" / "mlir.py").read_text()
    assert f"pip install {pin}" in remedy


def test_the_readme_explains_every_dependency(project: dict[str, Any]) -> None:
    text = (ROOT / "README.md").read_text()
    explained = set(re.findall(r"^\| `([\w-]+)` \|", text, re.M))
    assert explained == _names(project["project"]["dependencies"])
    section = text.split("## What it depends on")[1]
    for name in _names(project["project"]["optional-dependencies"]["test"]):
        assert f"`{name}`" in section


def test_every_script_is_a_function_that_may_be_interrupted(
    project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(name: str) -> NoReturn:
        raise KeyboardInterrupt

    scripts = project["project"]["scripts"]
    assert set(scripts) == {"morello", "morello-opt"}
    for place in scripts.values():
        module, name = place.split(":")
        script = getattr(importlib.import_module(module), name)
        with monkeypatch.context() as patch:
            patch.setattr(importlib, "import_module", interrupted)
            assert script() == 130


def test_python_versions_agree(project: dict[str, Any]) -> None:
    least = project["project"]["requires-python"].removeprefix(">=")
    assert project["tool"]["mypy"]["python_version"] == least
    assert project["tool"]["ruff"]["target-version"] == f"py{least.replace('.', '')}"
    assert f"Python {least} or newer" in (ROOT / "README.md").read_text()
    named = [c for c in project["project"]["classifiers"] if re.search(r":: 3\.\d", c)]
    assert named[0].endswith(least)


def test_every_folder_of_modules_is_a_package() -> None:
    """Setuptools finds packages by their ``__init__.py``, through the links too."""
    for folder in ("morello", "dialect", "passes"):
        for path in (ROOT / folder).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path

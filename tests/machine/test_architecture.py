"""Architectures are rows: what is of one stands in its row, and in few other files."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from morello.machine import architectures
from morello.machine.architectures import ARCHITECTURES, architecture

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = re.compile(r"x86(?!_fp80)|znver|haswell|mxcsr|cpuid", re.IGNORECASE)

NAMING = {
    "isa.py": "instruction sets",
    "native.py": "targets that were measured, by CPU",
    "x86_64.py": "the row",
}
"""The files of an architecture, all in `machine/`, and its targets."""


def strings(path: Path) -> list[str]:
    """The literals of a module that are no docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    literals = (n for n in nodes if isinstance(n, ast.Constant) and id(n) not in alone)
    return [n.value for n in literals if isinstance(n.value, str)]


def test_an_architecture_is_named_in_few_files() -> None:
    folders = (ROOT / name for name in ("morello", "passes", "dialect"))
    files = [path for folder in folders for path in folder.rglob("*.py")]
    naming = {
        path.name
        for path in files
        if any(WORDS.search(text) for text in strings(path))
        and "cpu=" not in path.read_text().partition("Target(")[2]
    }
    assert naming == set(NAMING)
    assert len(naming) + 3 <= 6  # with the list of rows, a target, and a file of C


def test_systems_name_their_architecture() -> None:
    for row in ARCHITECTURES:
        assert all(architecture(name) is row for name in row.names)
        assert row.base_cpu in row.cpus
        assert row.vector_cpu in row.cpus
    assert architecture("a name of none") is ARCHITECTURES[0]


def test_a_row_after_the_first_is_found_by_its_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = dataclasses.replace(ARCHITECTURES[0], names=("other",))
    monkeypatch.setattr(architectures, "ARCHITECTURES", (*ARCHITECTURES, other))
    assert architecture("other") is other
    assert architecture("a name of none") is ARCHITECTURES[0]

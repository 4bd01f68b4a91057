"""Every fault that was found from outside has a test that exists."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "internals" / "faults.md").read_text()

ROWS = [
    cells
    for line in PAGE.splitlines()
    if line.startswith("|") and len(cells := line.strip("| ").split(" | ")) == 3
]


@functools.cache
def functions_of(path: str) -> set[str]:
    """The tests that a file defines."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_each_fault_has_a_test(row: list[str]) -> None:
    if row == ["case", "what is right", "test"]:
        return
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row[2])
    assert ", ".join(f"`{path}::{name}`" for path, name in named) == row[2]
    for path, name in named:
        assert name in functions_of(path), f"{path} has no {name}"


def test_tests_pass_where_sigint_is_ignored() -> None:
    """A job in the background of a shell; what it starts ignores SIGINT, too."""
    test = "tests/test_interrupts.py::test_sigint_comes_at_the_end_of_the_block"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
    ]
    run = subprocess.run(
        ["bash", "-c", 'trap "" INT TERM; exec "$@"', "bash", *command, test],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout

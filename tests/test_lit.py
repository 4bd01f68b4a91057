"""The lit suite, one item a file: lit runs once, each item looks up its result."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.child import python
from tests.command_server import serving

ROOT = Path(__file__).resolve().parent.parent
LIT = ROOT / "lit"
FILES = sorted(
    path
    for pattern in ("*.mlir", "*.test")
    for path in LIT.rglob(pattern)
    if "inputs" not in path.relative_to(LIT).parts
)


@pytest.fixture(scope="session")
def results(
    tmp_path_factory: pytest.TempPathFactory, shared_database: Path
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("lit")
    report = folder / "report.json"
    # The path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory() as short, serving(Path(short, "socket")):
        run = python(
            "-c",
            "from lit.main import main; main()",
            "-q",
            "-j2",
            f"-Dserver={short}/socket",
            f"--output={report}",
            str(LIT),
            env={"MORELLO_LIT_OUTPUT": str(folder), "MORELLO_DB": str(shared_database)},
            cwd=folder,
            timeout=None,
        )
    assert report.exists(), run.stdout + run.stderr
    tests = json.loads(report.read_text())["tests"]
    return {test["name"]: test for test in tests}


def test_suite_is_not_empty() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LIT)))
def test_lit(path: Path, results: dict[str, Any]) -> None:
    result = results[f"morello :: {path.relative_to(LIT)}"]
    assert result["code"] == "PASS", result["output"]

"""Kinds with several outputs, windows and options of any type go all the way: the
dialect, the search, kernels, verification, the tools."""

from pathlib import Path

import pytest

from tests.child import python
from tests.kinds.checks import CHECKS
from tests.kinds.shown import TARGET

ROOT = Path(__file__).resolve().parents[2]


QUICK = ("text", "wrong")

NAMES = [
    pytest.param(name, marks=pytest.mark.quick) if name in QUICK else name
    for name in (check.__name__ for check in CHECKS)
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", NAMES)
def test_a_kind_that_is_registered_goes_all_the_way(name: str, tmp_path: Path) -> None:
    python(
        "-m",
        "tests.kinds.checks",
        name,
        env={"MORELLO_TARGET": TARGET.name, "MORELLO_DB": str(tmp_path / "db.sqlite")},
        check=True,
        cwd=ROOT,
    )

"""The search asks actions and the target; it knows no single one, and no cost."""

import ast
from pathlib import Path

import pytest

import morello.search

pytestmark = pytest.mark.quick

ROOT = Path(morello.search.__file__).parent
OF_ACTIONS = {
    *("ACTIONS", "Action", "Axes", "Child", "Expansion", "LoopForm", "Rewrite"),
    *("candidates", "may_drop"),
}
OF_LOOPS = {"Split", "Tile", "TileParallel", "tiled_dims"}
OF_RANGES = {"Range", "SizesError", "ToAccum", *OF_LOOPS}
"""What the search may import of `morello.actions`; and what puts programs of several
sizes together."""


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_no_single_action_and_no_cost_is_imported(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            assert not any(n.startswith("morello") for n in names), names
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        assert not node.module.startswith(("morello.cost", "morello.kernels"))
        if node.module.startswith("morello.actions"):
            assert node.module == "morello.actions"
            more = OF_RANGES if path.parent.name == "ranges" else set()
            assert {alias.name for alias in node.names} <= OF_ACTIONS | more

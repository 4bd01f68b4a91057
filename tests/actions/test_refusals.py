"""Every reason for which an action does not apply: the lines of `refusals.tsv`.

A line has a Spec, the threads that it may use ("serial" inside a parallel loop), the
action, and the reason.
"""

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import morello.actions
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import parse_spec
from tests.actions.written import action_of
from tests.tables import rows

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "threads", "written", "reason"), rows(__file__, "refusals")
)
def test_the_reason(text: str, threads: str, written: str, reason: str) -> None:
    is_serial = threads == "serial"
    spec = dataclasses.replace(parse_spec(text, AVX2.limits), serial=is_serial)
    target = dataclasses.replace(AVX2, threads=4 if is_serial else int(threads))
    action = action_of(written)
    with pytest.raises(ScheduleError) as caught:
        action.apply(spec, target)
    assert str(caught.value) == f"{action.name} does not apply to {spec}: {reason}"


UNREACHED = {
    "no kind takes the partial results",
    "no kind takes a part in the forms of its operands",
}
"""Parts of graphs have no kind only where they are products, which these are not."""


def _pattern(value: ast.expr) -> str:
    """A text of the code as a regular expression; empty for what is no text."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return re.escape(value.value)
    if isinstance(value, ast.BinOp):
        return _pattern(value.left) and f"{_pattern(value.left)}.*"
    if not isinstance(value, ast.JoinedStr):
        return ""
    return "".join(_pattern(part) or ".*" for part in value.values)


def _reasons() -> Iterator[str]:
    """Patterns of the sentences that actions say."""
    folder = Path(morello.actions.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        tree = ast.parse(file.read_text())
        features = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == "feature"
            for line in node.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Return | ast.Assign) and node not in features:
                pattern = _pattern(node.value) if node.value else ""
                if pattern.count("\\ ") > 2:
                    yield pattern


def test_every_reason_is_listed() -> None:
    listed = [reason for *_, reason in rows(__file__, "refusals")]
    reasons = {*_reasons()}
    missing = [p for p in reasons if not any(re.fullmatch(p, r) for r in listed)]
    assert len(reasons) > 80
    assert {re.sub(r"\\(.)", r"\1", p) for p in missing} == UNREACHED

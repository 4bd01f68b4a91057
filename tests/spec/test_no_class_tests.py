"""No code asks for the class of a kind: it reads the traits of `Kind`.

But `morello.spec`, where kinds are defined, and `morello.kernels`, each of which
implements one kind; and their tests.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.spec.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]

NAMES = {kind.__name__ for kind in KINDS}

ALLOWED = (
    "morello/spec/",
    "morello/kernels/",
    "tests/spec/",
    "tests/kernels/",
    "tests/search/test_new_memory.py",  # it has kernels of its own
)


def sources() -> list[Path]:
    """Every module of the repository that must not test classes of kinds."""
    paths = [
        path
        for folder in (
            "morello",
            "dialect",
            "passes",
            "benchmarks",
            "examples",
            "tests",
        )
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return [
        path
        for path, name in zip(paths, names, strict=True)
        if not name.startswith(ALLOWED)
    ]


def kind_names(tree: ast.Module) -> set[str]:
    """The names that classes of kinds have in a module."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("morello.spec")
        for alias in node.names
        if alias.name in NAMES
    }


def compared(node: ast.AST) -> Iterator[ast.expr]:
    """What a node compares a class with."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            yield classes
        case ast.MatchClass(cls=classes):
            yield classes
        case ast.Compare(comparators=classes):
            yield from (f for f in classes if not isinstance(f, ast.Call))


def class_tests(tree: ast.Module) -> list[int]:
    """The lines where a module tests for the class of a kind."""
    if not (names := kind_names(tree)):
        return []
    return [
        node.lineno
        for node in ast.walk(tree)
        for classes in compared(node)
        for name in ast.walk(classes)
        if isinstance(name, ast.Name) and name.id in names
    ]


def test_no_module_tests_for_the_class_of_a_kind() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        if any(name in (text := path.read_text()) for name in NAMES)
        for line in class_tests(ast.parse(text))
    ]
    assert places == [], "read a trait of Kind instead, or add one"


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(kind, Matmul)",
        "isinstance(kind, Fill | Copy)",
        "type(kind) is Matmul",
        "match kind:\n    case Matmul(accum=True): pass",
    ],
)
def test_class_tests_are_found(text: str) -> None:
    imports = "from morello.spec import Fill, Matmul, Move as Copy\n"
    assert class_tests(ast.parse(imports + text))
    assert not class_tests(ast.parse(f"{imports}kind == Matmul(accum=True)"))

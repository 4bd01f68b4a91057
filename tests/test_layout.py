"""The layout of the repository, and the directions of imports."""

import ast
import fnmatch
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.spec import MEMORIES
from morello.spec.kinds import KINDS
from tests.child import python
from tests.tables import rows

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
LIT = ROOT / "lit"

FOLDERS = {
    "benchmarks",
    "dialect",
    "docs",
    "examples",
    "lit",
    "morello",
    "passes",
    "tests",
}

NOT_OURS = [
    line.rstrip("/")
    for line in (ROOT / ".gitignore").read_text().splitlines()
    if line.endswith("/")
]

PRODUCT = ("morello", "dialect", "passes")

MAX_LINES = 600
MAX_LINES_OF_PRODUCT = 500

MAX_FILES = 20

WITHOUT_LIT = {
    "dialect/build.py": "from Specs to ops and back: called from Python only",
    "dialect/definition.py": "declares the dialect, holds nothing of its own",
    "dialect/ops.py": "the list of ops",
    "dialect/operand_groups.py": "what ops of many operands share; both have a test",
    "dialect/options.py": "options of kinds as attributes: the Spec ops have tests",
    "dialect/places.py": "words locations for messages",
    "dialect/target.py": "reads one attribute, for passes that have tests",
    "dialect/transform/action_op.py": "what the ops of actions share; each has a test",
    "dialect/transform/definition.py": "declares the dialect, holds nothing of its own",
    "dialect/transform/fields.py": "what the ops of actions share; each has a test",
    "dialect/transform/graphs/parts.py": "what cut and online share; both have a test",
    "dialect/transform/loops/nest.py": "what tile and split share; both have a test",
    "dialect/transform/dims/view.py": "what actions on views leave; each has a test",
    "dialect/transform/subview.py": "what tile and split share; both have a test",
    "dialect/transform/loops/team.py": "what parallel loops share; both have a test",
    "dialect/transform/trace.py": "records steps; `tests/compiler` tests them",
    "dialect/value_forms.py": "values as attributes, for the ops of kinds and actions",
    "passes/base.py": "what a pass is",
    "passes/registry.py": "the list of passes",
}
"""The files of `dialect/` and `passes/` that have no lit file, and why not."""

WITHOUT_PASSES = ("passes/parts", "passes/pipelines")
"""Folders of what passes are made of, and what runs them: the passes have the tests."""

IMPORTS = {name: set(packages.split()) for name, packages in rows(__file__, "imports")}
"""What each package may import of ``morello`` beside itself and `EVERYWHERE`."""

EVERYWHERE = (
    "_version", "docstrings", "errors", "lazy", "processes", "python_api", "new_arrays",
    "suggestions", "user_warnings", "whole_files",
)  # fmt: skip
"""What any package may import."""

UNUSED_BY_SEARCH = ("mlir", "torch_mlir", "morello.mlir")


def _modules(folder: str) -> Iterator[Path]:
    yield from sorted((ROOT / folder).rglob("*.py"))


def _package(name: str) -> str:
    return name if name in ("dialect", "passes") else f"morello/{name}"


@functools.cache
def _names(path: Path) -> tuple[tuple[str, ...], ...]:
    """Imports of a module, anywhere, types too: a module alone, or with a name."""
    names: set[tuple[str, ...]] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {(alias.name,) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {(node.module, alias.name) for alias in node.names}
    return tuple(names)


def _imports(path: Path) -> set[str]:
    """The packages of morello that a module imports."""
    words = (".".join(names).split(".") for names in _names(path))
    return {parts[1] for parts in words if parts[0] == "morello" and parts[1:]}


def test_top_folders() -> None:
    folders = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith(".")
    }
    ours = {
        name
        for name in folders
        if not any(fnmatch.fnmatch(name, pattern) for pattern in NOT_OURS)
    }
    assert ours == FOLDERS
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", ".ci/run"):
        assert (ROOT / name).is_file()


@pytest.mark.parametrize("name", ["dialect", "passes"])
def test_links_are_relative(name: str) -> None:
    assert str((ROOT / "morello" / name).readlink()) == f"../{name}"


def test_every_module_has_its_lit_file() -> None:
    without = {
        str(path.relative_to(ROOT))
        for folder in ("dialect", "passes")
        for path in _modules(folder)
        if path.name != "__init__.py"
        and str(path.parent.relative_to(ROOT)) not in WITHOUT_PASSES
        and not (LIT / path.relative_to(ROOT)).with_suffix(".mlir").exists()
    }
    assert without == set(WITHOUT_LIT)


def test_every_lit_file_has_its_module_or_kind() -> None:
    without = {
        path
        for folder in ("dialect", "passes")
        for path in (LIT / folder).rglob("*.mlir")
        if not (ROOT / path.relative_to(LIT)).with_suffix(".py").exists()
    }
    assert without == {LIT / "dialect" / f"{kind.name}.mlir" for kind in KINDS}


def test_one_lit_file_in_five_checks_a_refusal() -> None:
    files = [p for e in ("*.mlir", "*.test") for p in LIT.rglob(e)]
    refusing = [
        path
        for path in files
        if "expected-error" in path.read_text() or "RUN: not" in path.read_text()
    ]
    assert 5 * len(refusing) >= len(files) > 0


def test_every_folder_of_tests_has_quick_ones() -> None:
    """`pytest -m quick` touches every part. The soak is the slow part of another."""
    tests = set((ROOT / "tests").rglob("test_*.py"))
    quick = {p.parent for p in tests if "pytest.mark.quick" in p.read_text()}
    assert {p.parent for p in tests} - quick == set()


def test_no_file_is_long() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for folder in sorted(FOLDERS)
        for path in _modules(folder)
        if not any(part in NOT_OURS for part in path.parts)
        and (count := len(path.read_text().splitlines()))
        > (MAX_LINES_OF_PRODUCT if folder in PRODUCT else MAX_LINES)
    }
    assert long == {}


def test_few_files_are_in_a_folder() -> None:
    counts = {
        str(folder.relative_to(ROOT)): len([*folder.glob("*.py")])
        for name in PRODUCT
        for folder in [ROOT / name, *(ROOT / name).rglob("*/")]
    }
    assert {name: n for name, n in counts.items() if n > MAX_FILES} == {}


@pytest.mark.parametrize("name", sorted(IMPORTS))
def test_imports_point_one_way(name: str) -> None:
    legal = {name, *EVERYWHERE, *IMPORTS[name]}
    wrong = [
        f"{path.relative_to(ROOT)}: {imported}"
        for path in _modules(_package(name))
        for imported in _imports(path)
        if imported not in legal
    ]
    assert wrong == []


def test_no_arrow_between_packages_goes_up() -> None:
    """Each package comes after all that it may import."""
    left = {name: {*reads} for name, reads in IMPORTS.items()}
    left["passes"].discard("frontends")  # the passes that convert programs
    while free := {name for name, reads in left.items() if not reads & {*left}}:
        left = {name: reads for name, reads in left.items() if name not in free}
    assert left == {}


def _imported(path: Path, modules: set[str]) -> set[str]:
    """The modules of morello that a module imports: a submodule, or where names are."""
    wholes = ((".".join(names), names[0]) for names in _names(path))
    return {whole if whole in modules else first for whole, first in wholes} & modules


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def test_no_imports_go_in_a_circle() -> None:
    files = {_module(path): path for path in _modules("morello")}
    for folder in ("dialect", "passes"):
        files |= {f"morello.{_module(path)}": path for path in _modules(folder)}
    left = {name: _imported(path, {*files}) for name, path in files.items()}
    while free := {
        name for name, reads in left.items() if not reads & {*left} - {name}
    }:
        left = {name: reads for name, reads in left.items() if name not in free}
    # What is left imports, or is in, a circle; who is imported by none is in none.
    while outer := {*left} - {read for name in left for read in left[name] - {name}}:
        left = {name: reads for name, reads in left.items() if name not in outer}
    assert {name: sorted(reads & {*left}) for name, reads in left.items()} == {}


def test_only_tests_and_tools_import_tools() -> None:
    for path in _modules("morello"):
        if "tools" not in path.parts and path.name != "__main__.py":
            assert "tools" not in _imports(path), path


def test_the_search_runs_without_mlir() -> None:
    code = (
        "import sys\n"
        f"for name in {UNUSED_BY_SEARCH!r}: sys.modules[name] = None\n"
        "from morello.search import best_program\n"
        "from morello.spec import parse_spec\n"
        "from morello.machine import find_target\n"
        "target = find_target('avx2')\n"
        "print(best_program(parse_spec('fill:64', target.limits), target).impl)\n"
    )
    run = python("-c", code, check=True, cwd=ROOT)
    assert "fill_rows" in run.stdout


FEW_FILES = 15


def test_few_files_name_a_certain_memory() -> None:
    """Others ask what a memory is: a new one is a row of `memories.py`."""
    rows = {memory.name for memory in MEMORIES}
    naming = [
        path
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
        if any(row in (text := path.read_text()) for row in rows)
        and any(
            isinstance(node, ast.Name) and node.id in rows
            for node in ast.walk(ast.parse(text))
        )
    ]
    assert ROOT / "morello" / "spec" / "tensors" / "memories.py" in naming
    assert len(naming) <= FEW_FILES


LLVM = re.compile(
    r"""^\s*f?"*\s*(define \S+ @|declare \S+ @|ret (void|i\d+|ptr)\b|switch i\d+ |"""
    r"""br (i1|label) |store \S+ %|call \S+ [@%]|%\S+ = [a-z]+ )""",
    re.MULTILINE,
)
MOST_LLVM = (3, 150)


def test_little_llvm_ir_is_in_strings() -> None:
    """The glue around kernels is C (`morello/runtime/calls/c`): what is text depends on
    how many arguments there are, or on the registers of a CPU."""
    counts = {}
    for path in _modules("morello"):
        if not LLVM.search(text := path.read_text()):
            continue
        strings = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.JoinedStr | ast.Constant)
            and LLVM.search(ast.get_source_segment(text, node) or "")
        ]
        lines = {n for s in strings for n in range(s.lineno, (s.end_lineno or 0) + 1)}
        counts[path.name] = len(lines)
    files, lines_of_all = MOST_LLVM
    assert 0 < len(counts) <= files, counts
    assert sum(counts.values()) <= lines_of_all, counts


def test_one_class_has_axes_and_an_expression() -> None:
    """Programs of tensors, of memory and Specs have the same graphs."""
    classes = [
        (path.name, node.name)
        for path in (ROOT / "morello").rglob("*.py")
        if "expression: " in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        if {"axes", "expression"} <= _fields(node)
    ]
    assert classes == [("graph.py", "Node")]


def _fields(node: ast.ClassDef) -> set[str]:
    return {
        field.target.id
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }

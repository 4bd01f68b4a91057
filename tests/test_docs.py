"""The docs say what the tools do: examples run, links lead somewhere, flags exist."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.environment import VARIABLES
from morello.tools.commands import COMMANDS
from tests.command_server import serving

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
README_COMMANDS = [
    text.replace("\n        ", " ")
    for text in re.findall(r"^    (morello.*(?:\n        .*)*)", README, re.M)
]
MARKDOWN = sorted(
    path
    for pattern in ("*.md", "benchmarks/*.md", "docs/*.md", "docs/*/*.md")
    for path in ROOT.glob(pattern)
)
REFERENCE = sorted(ROOT.glob("docs/guide/reference/*.md"))
PAGES = sorted(path for path in MARKDOWN if path.is_relative_to(ROOT / "docs"))
MAX_LINES = 160
LONGER = {"worked-example.md": 220}
"""A page whose blocks are generated."""
NEEDED = {
    "jax.md": "jax",
    "language-models.md": "torch",
    "torch.md": "torch",
    "onnx.md": "onnx",
}
"""The package that the examples of a page need, and the tests do not."""

TOOLS = {"morello": "morello.tools.morello", "morello-opt": "morello.tools.morello_opt"}

Environment = dict[str, str]


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_file = pytest.mark.parametrize("path", [*MARKDOWN, *REFERENCE], ids=_id)


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


WITH_EXAMPLES = [
    path
    for path in PAGES
    if _blocks(path.read_text(), "sh") or _blocks(path.read_text(), "python")
]


@pytest.fixture(scope="module")
def user(shared_database: Path) -> Iterator[Environment]:
    """The environment of a user who tries one example after another.

    Our tools are run by `tests/command_server.py`, which has imported what they need.
    """
    # The path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory() as short, serving(Path(short, "socket")):
        client = ROOT / "tests" / "command_client.py"
        for name, module in TOOLS.items():
            words = (sys.executable, "-S", str(client), f"{short}/socket", module)
            tool = Path(short, name)
            tool.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            tool.chmod(0o755)
        path = (short, str(Path(sys.executable).parent), os.environ["PATH"])
        yield {
            **os.environ,
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": str(ROOT),
            "MORELLO_DB": str(shared_database),
        }


def _run(*words: str, env: Environment, cwd: Path = ROOT) -> str:
    run = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_generated_pieces_are_current(user: Environment) -> None:
    _run(sys.executable, "docs/generate.py", "--check", env=user)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=_id)
def test_examples_run(path: Path, tmp_path: Path, user: Environment) -> None:
    """In order: the commands of a page, then its Python, in a folder of their own."""
    needed = NEEDED.get(path.name)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: pip install -e '.[test-frameworks]'")
    for name in ("examples", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    text = path.read_text()
    for language, words in (
        ("sh", ("bash", "-euo", "pipefail", "-c")),
        ("python", (sys.executable, "-c")),
    ):
        blocks = _blocks(text, language)
        if blocks:
            _run(*words, "\n".join(blocks), env=user, cwd=tmp_path)


@pytest.mark.sampled(2)
def test_the_example_runs(user: Environment) -> None:
    out = _run(sys.executable, "examples/matmul.py", env=user)
    assert out.endswith("replayed to the same bytes\n")


@pytest.mark.sampled(10)
def test_the_example_of_attention_runs(user: Environment) -> None:
    out = _run(sys.executable, "examples/attention.py", env=user)
    assert out.endswith("masked keys weigh nothing\n")
    assert "stays in L1" in out or "stays in L2" in out


@pytest.mark.sampled(2)
def test_the_python_of_the_readme_runs(user: Environment) -> None:
    block = "\n".join(_blocks(README, "python"))
    out = _run(sys.executable, "-c", block, env=user)
    assert "transform.named_sequence @__transform_main" in out


def test_the_readme_gives_two_commands() -> None:
    lines = README.splitlines()
    commands = [line.strip() for line in lines if line.startswith("    pip ")]
    assert commands == [
        "pip install . && morello bench matmul:512x512x512:f32",
        "pip install -e '.[test]' && pytest",
    ]


def test_the_readme_names_the_quick_tests() -> None:
    assert "`pytest -m quick`" in README


def test_the_readme_has_commands() -> None:
    assert len(README_COMMANDS) >= 5


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", README_COMMANDS)
def test_the_commands_of_the_readme_run(command: str, user: Environment) -> None:
    assert _run("bash", "-euo", "pipefail", "-c", command, env=user)


@every_file
def test_links_lead_somewhere(path: Path) -> None:
    missing = []
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", path.read_text()):
        place = path.parent / target if target else path
        if "://" in target:
            continue
        if not place.exists() or (anchor and anchor not in _anchors(place)):
            missing.append(f"{target}#{anchor}")
    assert missing == []


def _anchors(path: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in words}


@every_file
def test_files_that_are_named_exist(path: Path) -> None:
    """A path in backquotes that begins with a folder of ours is a file of ours."""
    folders = "morello|dialect|passes|tests|lit|docs|examples|benchmarks"
    named = re.findall(rf"`((?:{folders})/[\w/.-]+)`", path.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


@every_file
def test_flags_that_are_named_exist(path: Path) -> None:
    wrong = []
    text = path.read_text().replace("\\\n", " ")
    for name, rest in re.findall(r"\bmorello ([a-z]+)\b([^\n`|]*)", text):
        if name not in COMMANDS:
            continue
        known = {
            f"--{field.replace('_', '-')}"
            for field in COMMANDS[name].options.__dataclass_fields__
        }
        used = set(re.findall(r"(?<=\s)--[\w-]+", rest))
        wrong += [f"morello {name} {flag}" for flag in used - known - {"--help"}]
    assert wrong == []


@pytest.mark.parametrize("path", PAGES, ids=_id)
def test_pages_are_a_few_screens(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LONGER.get(path.name, MAX_LINES)


MOST_FILES = {
    "A kernel": 3,
    "A named computation": 1,
    "An action": 5,
    "A pass": 3,
    "A coefficient of the cost model": 3,
    "A target": 4,
    "A memory": 6,
    "A function of elements": 1,
    "A dtype": 4,
    "An architecture": 6,
    "A form of weights": 1,
}
"""How many files a change may touch: section of the page to number."""


@pytest.mark.parametrize("section", MOST_FILES)
def test_a_first_change_touches_few_files_that_exist(section: str) -> None:
    """A path with ``<name>`` stands for a new file in a folder that exists."""
    paths = [ROOT / name for name in _listed(_section(section))]
    assert 0 < len(paths) <= MOST_FILES[section]
    for path in paths:
        assert (path.parent if "<name>" in path.name else path).exists()


def _section(title: str) -> str:
    page = (ROOT / "docs" / "internals" / "your-first-change.md").read_text()
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def _listed(section: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", section, re.M)


@pytest.mark.parametrize("title", [s for s in MOST_FILES if "Last: `" in _section(s)])
def test_a_first_change_touches_the_files_of_the_last_one(title: str) -> None:
    """Product files of the commit that the page names, where they are today."""
    section = _section(title)
    after = section.split("Last: `")[1].split("\n\n")[0]
    commit, *besides = re.findall(r"`([^`]+)`", f"`{after}")
    files = _git("show", "--name-only", "--format=", commit, "--", *PRODUCT)
    if not files:
        pytest.skip("the clone has no such commit: its history is cut off")
    today = _git("ls-files", *PRODUCT)
    touched = {_path_today(file, today) for file in files} - set(besides)
    listed = _listed(section)
    assert {_entry(path, listed) for path in touched} == set(listed)


PRODUCT = ("morello", "dialect", "passes", "lit")


def _git(*arguments: str) -> list[str]:
    """The lines that git prints; none where it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


def _path_today(path: str, today: list[str]) -> str:
    """The path of a file that a later commit may have moved to another folder."""
    if path in today:
        return path
    top, name = path.split("/")[0], path.split("/")[-1]
    moved = [p for p in today if p.startswith(f"{top}/") and p.endswith(f"/{name}")]
    return moved[0] if len(moved) == 1 else path


def _entry(path: str, listed: list[str]) -> str:
    """The entry that stands for a file: its path, or one with ``<name>``; else the
    path itself."""
    if path in listed:
        return path
    for entry in listed:
        folder, _, ending = entry.partition("<name>")
        if ending and path.startswith(folder) and path.endswith(ending):
            return entry
    return path


def test_every_variable_is_documented() -> None:
    """Names of ours that stand in the sources as strings, and nothing else."""
    names: set[str] = set()
    for folder in ("morello", "dialect", "passes", "benchmarks", "lit", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".cfg") and path.name != Path(__file__).name:
                names |= set(re.findall(r"\"(MORELLO_[A-Z_]+)\"", path.read_text()))
    documented = {v.name for v in VARIABLES if v.name.startswith("MORELLO_")}
    assert names == documented

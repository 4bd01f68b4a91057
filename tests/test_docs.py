"""The docs agree with the tools."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = [
    text.replace("\n        ", " ")
    for text in re.findall(r"^    (morello.*(?:\n        .*)*)", README, re.M)
]
MARKDOWN = sorted(
    path for pattern in ("*.md", "*/*.md", "docs/*/*.md") for path in ROOT.glob(pattern)
)


Environment = dict[str, str]


@pytest.fixture(scope="module")
def user(shared_database: Path) -> Environment:
    """The environment of a user who tries one example after another."""
    tools = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "MORELLO_DB": str(shared_database),
    }


def _python(*arguments: str, env: Environment | None = None) -> str:
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_generated_pieces_are_current(user: Environment) -> None:
    _python("docs/generate.py", "--check", env=user)


def test_the_example_runs(user: Environment) -> None:
    out = _python("examples/matmul.py", env=user)
    assert out.endswith("replayed to the same bytes\n")


def test_the_python_of_the_readme_runs(user: Environment) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) == 1
    out = _python("-c", blocks[0], env=user)
    assert "transform.named_sequence @__transform_main" in out


def test_the_readme_gives_two_commands() -> None:
    lines = README.splitlines()
    commands = [line.strip() for line in lines if line.startswith("    pip ")]
    assert commands == [
        "pip install . && morello bench matmul:512x512x512:f32",
        "pip install -e '.[test]' && pytest",
    ]


def test_the_readme_names_the_quick_tests() -> None:
    assert "    pytest -m quick" in README.splitlines()


def test_the_readme_has_commands() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_run(command: str, user: Environment) -> None:
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT,
        env=user,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text())
    local = [target for target in targets if "://" not in target]
    missing = [target for target in local if not (path.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_are_named_exist(path: Path) -> None:
    """A path in backquotes that begins with a folder of ours is a file of ours."""
    folders = "morello|dialect|passes|tests|lit|docs|examples|benchmarks"
    named = re.findall(rf"`((?:{folders})/[\w/.-]+)`", path.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []

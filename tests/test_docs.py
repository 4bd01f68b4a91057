"""What the docs say is what the tools do."""

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
MARKDOWN = sorted(path for pattern in ("*.md", "*/*.md") for path in ROOT.glob(pattern))


def _python(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_generated_pieces_are_current() -> None:
    _python("docs/generate.py", "--check")


def test_the_example_runs() -> None:
    assert _python("examples/matmul.py").endswith("replayed to the same bytes\n")


def test_the_python_of_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) == 1
    assert "transform.named_sequence @__transform_main" in _python("-c", blocks[0])


def test_the_readme_gives_two_commands() -> None:
    lines = README.splitlines()
    commands = [line.strip() for line in lines if line.startswith("    pip ")]
    assert commands == [
        "pip install . && morello bench matmul:512x512x512:f32",
        "pip install -e '.[test]' && pytest",
    ]


def test_the_readme_has_commands() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_run(command: str) -> None:
    tools = Path(sys.executable).parent
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
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

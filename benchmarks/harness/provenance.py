"""Origin of results: command, commit, date, machine, versions."""

import datetime
import os
import platform
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from morello.calibration.target_file import machine

ROOT = Path(__file__).resolve().parents[2]


def origin(module: str, words: Sequence[str], commit: str) -> dict[str, str]:
    """Describe the origin of the rows that one command measures."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "command": shlex.join(["python", "-m", module, *words]),
        "commit": commit,
        "date": now.isoformat(timespec="seconds"),
    }


def machine_text() -> str:
    """The processor, its caches, and what it may use of them."""
    cores = len(os.sched_getaffinity(0))
    return f"{machine()}, {cores} in use; Python {platform.python_version()}"


def commit_of(root: Path, revision: str = "") -> str:
    """A commit's short name; of the working tree, with ``+`` if files differ.

    Raises:
        ValueError: git knows no such revision.
    """
    words = ["git", "rev-parse", "--short=12", f"{revision}^{{commit}}"]
    if not revision:
        words = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode and revision:
        raise ValueError(f"git knows no commit '{revision}'")
    return done.stdout.strip() or "unknown"

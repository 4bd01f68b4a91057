"""Another commit's files beside this checkout: `worktree`."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def worktree(root: Path, commit: str) -> Iterator[Path]:
    """The files of a commit in a folder of their own, removed in the end.

    Raises:
        ValueError: git cannot check it out.
    """
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        folder = Path(name) / commit
        done = _git(root, "worktree", "add", "--detach", str(folder), commit)
        if done.returncode:
            why = done.stderr.strip().split("\n")[-1]
            raise ValueError(f"commit '{commit}' cannot be checked out: {why}")
        try:
            yield folder
        finally:
            _git(root, "worktree", "remove", "--force", str(folder))


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=False
    )

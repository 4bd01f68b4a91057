"""Python in a process of its own: what it prints, and how it ends."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def python(
    *words: str, env: Mapping[str, str] | None = None, check: bool = False, **more: Any
) -> Any:
    """Run Python to its end; a `subprocess.CompletedProcess` of text.

    Args:
        words: of its command line.
        env: variables beside those that there are.
        check: whether it must end well.
        more: as `subprocess.run` takes it.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = {**pipes, "text": True, "timeout": 600} | more
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **(env or {})},
        check=False,
        **options,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def printed(code: str, *words: str, **env: str) -> str:
    """The output of a program, which must end well."""
    output: str = python("-c", code, *words, env=env, check=True).stdout.strip()
    return output


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

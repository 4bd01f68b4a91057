"""Processes that a tool has started end with it, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CONTAINED = """
import os, sys, time
from morello.tools.opt.containment import run_contained
def work(send):
    send(os.getpid())
    time.sleep(600)
run_contained(work, lambda number: print(number, flush=True))
"""

WORKER = """
import time
from morello.processes.pool import start
from morello.tools.subcommands.workers import Job, solve_each
worker = start(Job("fill:4", "avx2", 1, "none"), solve_each)
print(worker.process.pid, flush=True)
worker.pipe.poll(600)
time.sleep(600)
"""
"""A worker that waits for its next job holds a pipe of this process as well."""


def is_alive(process: int) -> bool:
    """Whether it runs; a process that has ended may wait to be collected."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("code", [CONTAINED, WORKER], ids=["opt", "work"])
def test_a_child_ends_with_its_parent(code: str, number: int, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(code)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.send_signal(number)
        parent.wait()
        for _ in range(600):
            if not is_alive(child):
                break
            time.sleep(0.1)
        alive = is_alive(child)
        if alive:
            os.kill(child, signal.SIGKILL)
    assert not alive

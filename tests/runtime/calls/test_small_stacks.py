"""Threads with small stacks compile, where libraries would overflow them."""

import subprocess
import sys
import threading

import pytest

from morello.processes.small_stacks import on_large_stack, stack_bytes

_SMALL = 256 << 10

_CODE = f"""
import threading
import numpy as np
import morello

threading.stack_size({_SMALL})
x = np.ones((3, 4), np.float32)

def run():
    kernel = morello.compile("matmul:3x4x3:f32", threads=1, time_limit=0.1)
    print(kernel(x, x.T.copy()).sum())
    print(morello.jit(lambda x: x.sum() + 1, threads=1, time_limit=0.1)(x))
    try:
        morello.compile("matmul:0x3x4:f32")
    except morello.errors.MorelloError:
        print("refused")

thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_a_thread_with_a_small_stack_compiles() -> None:
    command = [sys.executable, "-c", _CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["36.0", "13.0", "refused"])


@pytest.mark.parametrize("size", [_SMALL, 2 << 20])
def test_calls_have_a_large_stack(size: int) -> None:
    sizes: list[int] = []
    before = threading.stack_size(size)
    try:
        thread = threading.Thread(
            target=lambda: sizes.extend((stack_bytes(), on_large_stack(stack_bytes)()))
        )
        thread.start()
        thread.join()
        assert threading.stack_size() == size
    finally:
        threading.stack_size(before)
    of_thread, of_call = sizes
    assert of_thread > 0.9 * size  # a thread may get the stack of one that has ended
    assert of_call == of_thread if of_thread > 1 << 20 else of_call > 7 << 20

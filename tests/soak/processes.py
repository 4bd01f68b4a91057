"""Soaks of a process: memory over many compilations, and forks amid them."""

import gc
import random
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import morello
from morello.machine import AVX2
from morello.spec import parse_spec
from tests.quality.compiled import unsearched
from tests.quality.test_lifetime import arguments, is_right, resident
from tests.test_forks import ending, forked

SPECS = (
    "matmul:8x9x10:f32:lhs=ld?",
    "matmul:4x5x6:bf16,bf16,f32",
    "max:9x33:f32",
    "move:12x20:f32:dst=[1,0]",
    "sum:9x33:s32",
)

WARM_UP = 50
"""Compilations after which memory stays as it is."""

GROWTH = 4 << 20
"""Bytes that count as staying."""

_seen: list[int] = []
"""The memory after each compilation of this process."""


def check_cycles(seeds: Sequence[int]) -> int:
    """Compile, run and drop a kernel for each seed; how many were.

    Raises:
        AssertionError: a result is wrong, or memory has grown after the first fifty.
    """
    for seed in seeds:
        text = SPECS[seed % len(SPECS)]
        command = f"python -m tests.soak cycles --count 300 --seed {seed}"
        schedule = unsearched(text, 0).schedule
        kernel = morello.compile(text, schedule=schedule, threads=1)
        inputs = arguments(kernel, np.random.default_rng(seed))
        assert is_right(kernel, inputs), f"{command}  # {text} is wrong"
        del kernel, inputs
        gc.collect()
        _seen.append(resident())
        growth = max(_seen[WARM_UP:], default=0) - _seen[min(WARM_UP, len(_seen)) - 1]
        assert growth < GROWTH, f"{command}  # {growth} bytes more"
    return len(seeds)


def check_forks(seeds: Sequence[int]) -> int:
    """Fork for each seed while a thread compiles; the child compiles, too.

    Raises:
        AssertionError: a child hangs or fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.sqlite"

        def compile_one(number: int) -> None:
            sizes = f"{3 + number % 7}x{5 + number % 11}"
            spec = parse_spec(f"fill:{sizes}:f32", AVX2.limits)
            morello.compile(spec, target=AVX2, threads=1, db=path)

        stop = threading.Event()

        def work() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                compile_one(number)

        compile_one(0)
        thread = threading.Thread(target=work)
        thread.start()
        children = []
        for seed in seeds:
            stop.wait(random.Random(seed).random() / 5)
            children.append((seed, forked(lambda seed=seed: compile_one(seed))))  # type: ignore[misc]
        stop.set()
        thread.join()
        for seed, child in children:
            command = f"python -m tests.soak forks --count 1 --seed {seed}"
            assert ending(child) == 0, f"{command}  # the child hangs or fails"
    return len(seeds)

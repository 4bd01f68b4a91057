"""A1: random Specs, random programs, against the exact oracle."""

import random
from collections.abc import Sequence

from morello.search.impl import Impl
from morello.spec import Spec
from tests.quality.execution import check_all
from tests.quality.programs import build_programs
from tests.quality.specs import random_spec
from tests.quality.walks import random_program

SCHEDULES = 3
"""Programs for each Spec."""


def check_random_programs(seeds: Sequence[int], schedules: int = SCHEDULES) -> int:
    """For each seed a Spec and so many programs of it; how many were run.

    A module holds one program for each Spec, so there are as many modules as schedules.
    The first is compiled as users get it. The others are not optimised by LLVM, which
    takes half of the time and may remove an access to what must not be touched.

    Raises:
        AssertionError: names the seed of the Spec that failed.
    """
    specs = [random_spec(random.Random(seed)) for seed in seeds]
    count = 0
    for number in range(schedules):
        known: dict[Spec, Impl] = {}
        impls = [
            random_program(spec, random.Random(f"{seed} {number}"), known)
            for seed, spec in zip(seeds, specs, strict=True)
        ]
        labels = [
            reproducer(seed, spec) for seed, spec in zip(seeds, specs, strict=True)
        ]
        programs = build_programs(impls, labels, opt=0 if number else 3)
        check_all(programs, seed=number)
        count += len(programs)
    return count


def random_impl(seed: int) -> Impl:
    """The first program of the Spec of a seed."""
    return random_program(random_spec(random.Random(seed)), random.Random(f"{seed} 0"))


def reproducer(seed: int, spec: Spec) -> str:
    """The command that runs a Spec and its programs by themselves."""
    return f"python -m tests.soak random_programs --count 1 --seed {seed}  # {spec}"

"""A part of each suite of a peer, drawn anew in each run of the tests.

The seed is in pytest's header; MORELLO_TEST_SEED gives it again."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.conformance.suite import SUITES

SECONDS = 4.0
LIMIT = 60.0  # of a test; what still runs when the time is over counts for nothing


@pytest.mark.sampled(8)
@pytest.mark.parametrize("suite", SUITES)
def test_a_sample_has_no_fault(suite: str) -> None:
    for package in SUITES[suite]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: the extra test-frameworks has it")
    flags = {
        "--seed": os.environ["MORELLO_TEST_SEED"],
        "--count": "60",
        "--seconds": f"{SECONDS:g}",
        "--limit": f"{LIMIT:g}",
        "--time-limit": "2",
        "--samples": "1",
    }
    command = [sys.executable, "-m", "tests.conformance", suite]
    command += [word for flag in flags.items() for word in flag]
    environment = os.environ | {"MORELLO_THREADS": "1"}
    for name in ("MORELLO_DB", "MORELLO_CODE"):  # the command has a folder of its own
        environment.pop(name, None)
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{done.stdout}{done.stderr}"
    tests = int(done.stdout.splitlines()[2].split("|")[2])
    assert tests > 0, done.stdout

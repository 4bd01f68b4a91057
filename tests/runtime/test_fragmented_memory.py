"""Code loaded into a process whose free address space is fragmented."""

from tests.child import python


def test_code_and_constants_may_lie_far_apart() -> None:
    """MCJIT puts them into gaps that it finds; beyond 2 GiB LLVM ended the process."""
    done = python(
        "-m", "tests.runtime.fragmented_memory", env={"PYTHONMALLOC": "malloc"}
    )
    assert done.stdout.splitlines() == ["calls [1.0, 1.5] 2", "constants [0.5, 1.5]"], (
        done.stderr
    )
    assert done.returncode == 0, done.stderr

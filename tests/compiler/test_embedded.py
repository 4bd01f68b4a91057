"""Compiling in programs that embed Python: other threads, other interpreters."""

import importlib.util

import pytest

from tests.child import printed

pytestmark = pytest.mark.quick


THREAD = """
import _thread, sys, time
done = []
def work():
    import morello
    kernel = morello.compile("fill:3x5", db=sys.argv[1])
    done.append(float(kernel().sum()))
assert "threading" not in sys.modules
_thread.start_new_thread(work, ())
while not done: time.sleep(.01)
print(done)
"""


def test_python_takes_another_thread_for_the_main_one(tmp_path: object) -> None:
    """The first that imports `threading`, as in a program that embeds Python."""
    assert printed(THREAD, f"{tmp_path}/t.sqlite") == "[0.0]"


INTERPRETER = """
import _xxsubinterpreters as interpreters
number = interpreters.create(isolated=ISOLATED)
for size in "57":
    interpreters.run_string(number, f'''
import warnings
warnings.simplefilter("ignore")
import morello
kernel = morello.compile("fill:3x{size}", db="none")
print(kernel().sum(), flush=True)
''')
"""
"""NumPy can be imported by one interpreter of a process."""


@pytest.mark.sampled(2)
@pytest.mark.skipif(
    importlib.util.find_spec("_xxsubinterpreters") is None,
    reason="this Python has no such module",
)
@pytest.mark.parametrize("isolated", ["True", "False"])
def test_subinterpreters(isolated: str) -> None:
    assert printed(f"ISOLATED = {isolated}\n{INTERPRETER}") == "0.0\n0.0"

"""The environment variables that Morello, its tests and its benchmarks read."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Variable:
    """An environment variable, as the reference lists it.

    Args:
        name: of the variable.
        reader: who reads it.
        text: what it sets, and what holds if it is not set.
    """

    name: str
    reader: str
    text: str


VARIABLES = (
    Variable(
        "MORELLO_DB",
        "the search",
        "databases of solved tables: a path; several with `:` between them, of which "
        "the first is written and the others are only read; `none` for no database",
    ),
    Variable(
        "MORELLO_TARGET",
        "`morello.compile`, the tools",
        "the target, where neither an argument nor a schedule names one; `native` if "
        "not set",
    ),
    Variable(
        "MORELLO_THREADS",
        "`morello.compile`, the tools",
        "the most threads that a kernel may use, where neither an argument nor a "
        "schedule says; the processors that the process may use if not set",
    ),
    Variable(
        "OMP_NUM_THREADS",
        "`morello.compile`, the tools",
        "the most threads where nothing above says; `OMP_THREAD_LIMIT` alike",
    ),
    Variable(
        "MORELLO_LEARNED",
        'tuning, `tune="learned"`',
        "the file of a learned model, as `python -m benchmarks.training train` writes "
        "it; the shipped models if not set",
    ),
    Variable(
        "KMP_BLOCKTIME",
        "the OpenMP runtime",
        "milliseconds that its idle threads spin before they sleep; 1 if not set",
    ),
    Variable(
        "XDG_DATA_HOME",
        "the tools",
        "folder of the folder `morello` with the database `tables.sqlite`, where "
        "`MORELLO_DB` is not set; `~/.local/share` if not set",
    ),
    Variable(
        "MORELLO_CODE",
        "`morello.compile`, the tools",
        "folder of the machine code of kernels, used with a database; `none` for no "
        "such folder; `code` beside `tables.sqlite` (above) if not set",
    ),
    Variable(
        "XDG_CACHE_HOME",
        "the search",
        "folder of the folder `morello` with the machine code of the search, where the "
        "installed package cannot be written to; `~/.cache` if not set",
    ),
    Variable(
        "MORELLO_PEERS",
        "`benchmarks.peers`",
        "folder of the environments of other libraries; `morello-peers` in the user's "
        "cache if not set",
    ),
    Variable(
        "FILECHECK",
        "lit tests",
        "the FileCheck to use; the one of the package `filecheck` if not set",
    ),
    Variable(
        "MORELLO_LIT_OUTPUT",
        "lit tests",
        "folder of lit's temporary files; `build/lit` if not set",
    ),
    Variable(
        "HYPOTHESIS_PROFILE",
        "tests",
        "the profile of Hypothesis; `thorough` tries more examples",
    ),
    Variable(
        "MORELLO_TEST_SEED",
        "tests",
        "the seed of what is drawn anew in each run; a random one, which the header of "
        "pytest has, if not set",
    ),
    Variable(
        "MORELLO_TEST_ALL",
        "tests",
        "if set, all cases of broad tests run (random programs, edge sizes, ONNX "
        "attributes), not a part that is drawn",
    ),
    Variable(
        "PYTHON",
        "`.ci/run`",
        "the Python to make environments with; `python3` if not set",
    ),
)
"""Every variable. A test compares the names with the sources."""

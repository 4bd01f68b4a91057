"""Configuration of the lit suite: ``lit lit`` from a checkout.

The tools are those of this checkout, run by the interpreter that runs lit. FileCheck is
the ``filecheck`` package next to that interpreter; the environment variable FILECHECK
names another one. Every command of a test has a time limit.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import lit.formats

config: Any = globals()["config"]
lit_config: Any = globals()["lit_config"]

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60


def tool(name: str) -> str:
    """The path of a program, preferably next to the interpreter."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        lit_config.fatal(f"{name} is not installed; run: pip install -e '.[test]'")
    return str(found)


def limited(*command: str) -> str:
    """A command that is ended after the time limit (lit's own needs psutil)."""
    return shlex.join([tool("timeout"), "-k", "5", str(SECONDS), *command])


config.name = "morello"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["inputs"]
config.test_source_root = str(ROOT / "lit")
config.test_exec_root = os.environ.get(
    "MORELLO_LIT_OUTPUT", str(ROOT / "build" / "lit")
)
config.environment["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
)
for variable in (
    "HOME",
    "XDG_CACHE_HOME",
    "MORELLO_DB",
    "MORELLO_THREADS",
    "MORELLO_TARGET",
):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
config.environment.setdefault("MORELLO_DB", "none")
config.environment.setdefault("MORELLO_THREADS", "1")
config.environment.setdefault("MORELLO_TARGET", "avx2")
config.substitutions += [
    (r"%morello-opt", limited(sys.executable, "-m", "morello.tools.morello_opt")),
    (r"%morello", limited(sys.executable, "-m", "morello.tools.morello")),
    (r"%python", limited(sys.executable)),
    (r"\bFileCheck\b", os.environ.get("FILECHECK") or shlex.quote(tool("filecheck"))),
    (r"%inputs", str(ROOT / "lit" / "inputs")),
]

"""Configuration of the lit suite: ``lit lit`` from a checkout.

The tools are those of this checkout, run by the interpreter that runs lit. FileCheck is
the ``filecheck`` package next to that interpreter; the environment variable FILECHECK
names another one. Every command of a test has a time limit. With ``-Dserver=SOCKET``
commands are run by `tests/command_server.py`, which pytest does.
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


def program(module: str) -> str:
    """What runs a module: a process of its own, or `tests/command_server.py`."""
    if server := lit_config.params.get("server"):
        client = str(ROOT / "tests" / "command_client.py")
        return limited(sys.executable, "-S", client, server, module)
    return limited(sys.executable, "-m", module)


def filecheck() -> str:
    """FileCheck: what is asked for, or the package."""
    if asked := os.environ.get("FILECHECK"):
        return asked
    if "server" in lit_config.params:
        return program("filecheck.main")
    return shlex.quote(tool("filecheck"))


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
    (r"%morello-opt", program("morello.tools.morello_opt")),
    (r"%morello", program("morello.tools.morello")),
    (r"%python", limited(sys.executable)),
    (r"\bFileCheck\b", filecheck()),
    (r"%inputs", str(ROOT / "lit" / "inputs")),
]

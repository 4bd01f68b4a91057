"""Makes an ``.ll`` of each ``.c`` in this folder: ``python build.py``.

Nobody needs this to install or run: the LLVM IR is checked in. It needs the compiler
of ``pip install ziglang==0.17.1``, so that the text is the same on every machine. Of
the text only what every processor and system takes is left: the engine adds the rest.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from morello.machine.architectures import HOST

COMPILER = "ziglang"
VERSION = "0.17.1"
FOLDER = Path(__file__).parent

_FLAGS = (
    *(
        "-target",
        f"{HOST.names[0]}-linux-gnu",
        "-std=c11",
        "-Os",
        "-g0",
        "-S",
        "-emit-llvm",
    ),
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
    *("-Wno-unused-command-line-argument", "-fwrapv", "-fno-strict-aliasing"),
    *("-fno-sanitize=all", "-fno-builtin", "-fno-stack-protector"),
    *("-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"),
    *("-fno-discard-value-names", "-fno-asynchronous-unwind-tables"),
)
_DROPPED = re.compile(
    r"^(?:;.*|source_filename.*|target .*|attributes .*|!.*)\n"
    r"|[ \t]+; preds.*|,? !\S+ !\d+| #\d+\b| (?:local_)?unnamed_addr\b",
    re.MULTILINE,
)
_HEAD = "; Made by build.py of the C beside it: change that.\n\n"


def sources() -> list[Path]:
    """C files, each of which is compiled to a module of LLVM IR."""
    return sorted(FOLDER.glob("*.c"))


def compiled(source: Path) -> str:
    """The LLVM IR of a file.

    Raises:
        CalledProcessError: the compiler refuses it.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output.ll")
        files = ["-o", str(output), source.name]
        command = [sys.executable, "-m", COMPILER, "cc", *_FLAGS, *files]
        subprocess.run(command, cwd=FOLDER, check=True)
        text = _DROPPED.sub("", output.read_text())
    return _HEAD + re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


if __name__ == "__main__":
    for source in sources():
        source.with_suffix(".ll").write_text(compiled(source))

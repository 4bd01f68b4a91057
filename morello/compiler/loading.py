"""Kernels of files, by `morello.load`."""

from pathlib import Path

from morello.compiler import kernel_file
from morello.compiler.kernel import Kernel


def load(path: str | Path) -> Kernel:
    """Read a kernel that ``kernel.save("net.kernel")`` wrote: without tracing, search
    or compilation, and with its arrays where they lie in the file.

    The file is code, as a pickle is: load none of strangers. It may not be written to
    as long as the kernel lives; `save` and ``os.replace`` may replace it.

    Raises:
        FileError: it cannot be read.
        CompileError: it is not such a file, is damaged, or is of another version.
        TargetError: this machine lacks a feature that it may use.
    """
    kernel: Kernel = kernel_file.read(path)
    return kernel

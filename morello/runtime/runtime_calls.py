"""Calls that a kernel may make: the runtime of its threads, and functions of code
generation.

Schedules come from anyone, and none of their ops makes another call. Should one get
through all the same, it must not reach machine code.
"""

import re
from collections.abc import Iterator

from morello.errors import CompileError

_RUNTIME = re.compile(
    "__kmpc_.*|omp_get_(?:thread_num|num_threads)|sched_(?:getcpu|[gs]etaffinity)"
    "|mem(?:cpy|move|set|cmp)"
)
"""OpenMP's functions, those that place its threads, and copies of memory."""

_MATHEMATICS = re.compile(
    "(?:a?(?:cos|sin|tan)h?|atan2|cbrt|erfc?|exp(?:2|10|m1)?|log(?:2|10|1p)?|pow|sqrt"
    "|ceil|floor|fmod|fma|fabs|round(?:even)?|rint|trunc|copysign)f?"
)
"""Functions of libm, which every process has."""

_DECLARED = re.compile(
    r'^(?:declare [^@\n]*|(?=@)(?=[^\n]*= (?:\w+ )*external ))@("[^"\n]*"|[\w.$-]+)',
    re.MULTILINE,
)


def check_calls(llvm: str, mathematics: bool = False) -> None:
    """Refuse LLVM IR that uses a function or variable that no kernel may.

    Args:
        llvm: a module.
        mathematics: whether it may use libm's functions.

    Raises:
        CompileError: it does; names it.
    """
    refused = [name for name in _needed(llvm) if not _RUNTIME.fullmatch(name)]
    if mathematics:
        refused = [name for name in refused if not _MATHEMATICS.fullmatch(name)]
    if "\nmodule asm " in f"\n{llvm}":
        refused.append("assembly beside its functions")
    if refused:
        raise CompileError(
            f"the kernel uses {', '.join(sorted(refused))}, which no kernel may",
            "a kernel calls nothing but the OpenMP runtime; lower the op that calls",
        )


def _needed(llvm: str) -> Iterator[str]:
    """The names that a module declares, but LLVM's own."""
    for quoted in _DECLARED.findall(llvm):
        name = quoted.strip('"')
        if not name.startswith("llvm."):
            yield name

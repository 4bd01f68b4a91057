"""Names that a function of C and C++ may have."""

import ctypes
import re
from collections.abc import Sequence

from morello.errors import CompileError

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)

_MAX_LENGTH = 200
"""Characters; compilers and linkers take more, and names get endings."""

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t
char16_t char32_t class compl concept const consteval constexpr constinit const_cast
continue co_await co_return co_yield decltype default delete do double dynamic_cast
else enum explicit export extern false float for friend goto if inline int long
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
public register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof typeof_unqual union unsigned using virtual void
volatile wchar_t while xor xor_eq main
"""
"""Keywords of C23 and C++23 that begin with a letter, and the name of a program."""

_TAKEN = """
NULL EOF errno assert offsetof complex imaginary I alloca setjmp va_start va_arg va_end
va_copy linux unix std posix abi end etext edata SIZE_MAX PTRDIFF_MAX PTRDIFF_MIN
RAND_MAX EXIT_SUCCESS EXIT_FAILURE MB_CUR_MAX morello_leave_processor
"""
"""Macros of headers and compilers, namespaces of C++, names of linkers, and a function
that objects with threads have inside."""

_RESERVED = re.compile(
    r"(omp|ompx|ompt|ompd|kmp|kmpc|GOMP)_.*|U?INT[A-Z]*\d*_(MAX|MIN|C|WIDTH)"
)
"""Names of OpenMP, and macros of <stdint.h>."""

_ENDINGS = ("_malloc", "_supported", "_unchecked", "_t", "_H", "_OK", "_RESTRICT")
"""With these a header makes its own names of a kernel's, and C its types."""

_LIBRARIES = ("libc.so.6", "libm.so.6")
"""Libraries whose functions are in every program."""


def check_c_name(name: str) -> None:
    """Refuse what cannot be the name of a function in C and in C++.

    Raises:
        CompileError: no identifier, a keyword, reserved, or a name of the C library: a
            program would call the kernel instead of the library's function.
    """
    if not isinstance(name, str):
        raise CompileError(f"'name' is {type(name).__name__}, not text", "give a name")
    remedy = "give letters, digits and single _, the first a letter, e.g. name='vecmat'"
    if not _IDENTIFIER.fullmatch(name):
        raise CompileError(f"{name!r} is not an identifier of C", remedy)
    if name in _KEYWORDS.split():
        raise CompileError(f"{name!r} means something else in C or C++", remedy)
    if name in _TAKEN.split() or _RESERVED.fullmatch(name) or _is_in_c_library(name):
        raise CompileError(
            f"{name!r} is a name of the C library, the compiler or OpenMP", remedy
        )
    for ending in _ENDINGS:
        if name.endswith(ending):
            raise CompileError(
                f"{name!r} ends in {ending}, as names do that a header adds", remedy
            )
    if "__" in name:
        raise CompileError(f"{name!r} has __, which C++ keeps for itself", remedy)
    if len(name) > _MAX_LENGTH:
        raise CompileError(
            f"a name of {len(name)} characters is too long",
            f"give at most {_MAX_LENGTH}",
        )


_LOCALS = frozenset({"memory", "past", "status", "workspace"})
"""Variables of the functions in headers."""


def c_identifiers(names: Sequence[str]) -> list[str]:
    """Identifiers of C for the names of arguments, as like these as may be.

    No two are equal, not even without regard to case, since macros are named by them.
    """
    identifiers: list[str] = []
    taken = set(_LOCALS)
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[: _MAX_LENGTH // 2]
        if not plain[:1].isalpha():
            plain = f"value_{plain}".rstrip("_")
        identifier, number = plain, 1
        while identifier.lower() in taken or not _is_c_name(identifier):
            number += 1
            identifier = f"{plain}_{number}"
        identifiers.append(identifier)
        taken.add(identifier.lower())
    return identifiers


def _is_c_name(name: str) -> bool:
    try:
        check_c_name(name)
    except CompileError:
        return False
    return True


def _is_in_c_library(name: str) -> bool:
    """Whether the C library has a function or a variable of this name."""
    for file in _LIBRARIES:
        try:
            library = ctypes.CDLL(file)
        except OSError:
            continue
        if hasattr(library, name):
            return True
    return False

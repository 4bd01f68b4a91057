"""Arrays at an address, inside compiled functions.

One call works on many arrays of many sizes, which numba would take one argument each:
so they come as words of a descriptor. Whoever makes the descriptor keeps the arrays.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from morello.search.compiled.jit import inner

_MANY = 1 << 40
"""The length of an array whose length nobody asks for."""


@intrinsic  # type: ignore[untyped-decorator]
def pointer(context: Any, word: Any) -> Any:
    """The pointer with the value of an integer."""

    def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:
        return builder.inttoptr(words[0], context.get_value_type(types.voidptr))

    return types.voidptr(word), generate


@inner
def floats(word: int) -> Any:
    """The float64 array at an address."""
    return carray(pointer(word), (_MANY,), np.float64)


@inner
def integers(word: int) -> Any:
    """The int64 array at an address."""
    return carray(pointer(word), (_MANY,), np.int64)


@inner
def shorts(word: int) -> Any:
    """The int32 array at an address."""
    return carray(pointer(word), (_MANY,), np.int32)

"""Even and odd lanes in vectors of their own: how bf16 becomes f32 without shuffles."""

from morello.kernels.emitter import Emitter, Value

_EVEN, _ODD = range(0, 16, 2), range(1, 16, 2)
_LOW, _HIGH = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
_FIRST, _SECOND = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)


def interleave(emitter: Emitter, even: Value, odd: Value) -> tuple[Value, Value]:
    """The 16 lanes of two vectors of 8 in turns: the first 8, and the others."""
    low = emitter.shuffle(even, odd, _LOW)
    high = emitter.shuffle(even, odd, _HIGH)
    return emitter.shuffle(low, high, _FIRST), emitter.shuffle(low, high, _SECOND)


def deinterleave(emitter: Emitter, first: Value, second: Value) -> tuple[Value, Value]:
    """The reverse of `interleave`."""
    even = emitter.shuffle(first, second, _EVEN)
    return even, emitter.shuffle(first, second, _ODD)

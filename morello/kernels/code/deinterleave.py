"""Even and odd lanes in vectors of their own: how bf16 becomes f32 without shuffles."""

from collections.abc import Callable

from morello.kernels.emitter import Emitter, Value
from morello.spec import Dtype

_LOW, _HIGH = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
_FIRST, _SECOND = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)
"""8 lanes in turns by shuffles that stay in 16 bytes, then by halves. In vectors of
another width one instruction takes lanes from anywhere."""


def interleave(emitter: Emitter, even: Value, odd: Value) -> tuple[Value, Value]:
    """The lanes of two vectors in turns: the first half of them, and the others."""
    lanes = emitter.isa.lanes(Dtype.F32)
    if lanes != len(_LOW):
        turns = [lane for i in range(lanes) for lane in (i, lanes + i)]
        return (
            emitter.shuffle(even, odd, turns[:lanes]),
            emitter.shuffle(even, odd, turns[lanes:]),
        )
    low = emitter.shuffle(even, odd, _LOW)
    high = emitter.shuffle(even, odd, _HIGH)
    return emitter.shuffle(low, high, _FIRST), emitter.shuffle(low, high, _SECOND)


def deinterleave(emitter: Emitter, first: Value, second: Value) -> tuple[Value, Value]:
    """The reverse of `interleave`."""
    count = 2 * emitter.isa.lanes(Dtype.F32)
    even = emitter.shuffle(first, second, range(0, count, 2))
    return even, emitter.shuffle(first, second, range(1, count, 2))


def every_second(
    emitter: Emitter, load: Callable[[int, int], Value], lanes: int, count: int
) -> Value:
    """Elements 0, 2, 4, … up to ``count`` of them: of two vectors, the second of which
    begins with the last element of the first, so that it ends with the last one
    that is asked for.

    Args:
        emitter: where the code is written.
        load: loads elements: from which one on, and how many.
        lanes: elements of a vector.
        count: elements that are chosen.
    """
    reach = 2 * count - 1
    first = load(0, min(reach, lanes))
    if reach <= lanes:
        return emitter.shuffle(first, first, range(0, 2 * lanes, 2))
    second = load(lanes - 1, reach - (lanes - 1))
    chosen = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
    return emitter.shuffle(first, second, chosen)

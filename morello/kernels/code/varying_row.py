"""Rows whose length a call says."""

import functools
from collections.abc import Callable, Iterable

from morello.kernels.emitter import Emitter, Value


def varying_row(
    emitter: Emitter,
    size: Value,
    sizes: Iterable[int],
    lanes: int,
    write: Callable[[Value, int], object],
) -> None:
    """Run ``write`` at each vector of a row, and on the elements that remain.

    Args:
        emitter: writes the loop, and a case for each number of elements that remain.
        size: the length in a call.
        sizes: all lengths that it may be.
        lanes: elements of a vector.
        write: takes where elements begin, and how many there are.
    """
    whole = emitter.linear([(emitter.quotient(size, lanes), lanes)])

    def step(at: Value, _: object) -> tuple[()]:
        write(at, lanes)
        return ()

    emitter.loop(0, whole, lanes, (), step)

    def remainder(count: int) -> None:
        if count:
            write(whole, count)

    rests = {size % lanes for size in sizes}
    cases: dict[int, Callable[[], None]] = {
        rest: functools.partial(remainder, rest) for rest in rests
    }
    emitter.switch(emitter.difference(size, whole), cases)


__all__ = ["varying_row"]

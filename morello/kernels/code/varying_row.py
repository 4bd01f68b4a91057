"""Rows whose length a call says."""

import functools
from collections.abc import Callable, Iterable, Sequence

from morello.kernels.emitter import Case, Emitter, Value

Columns = list[tuple[Value, int]]
"""Vectors of a row: where each begins, and how many elements it has."""

Write = Callable[[Columns, Sequence[Value]], Sequence[Value]]
"""Code of neighbouring vectors, from what is carried to what is carried on."""


def varying_row(
    emitter: Emitter,
    size: Value,
    sizes: Iterable[int],
    lanes: int,
    write: Write,
    carried: Sequence[Value] = (),
    groups: Sequence[int] = (1,),
) -> Sequence[Value]:
    """Run ``write`` at the vectors of a row, and on the elements that remain.

    Args:
        emitter: writes the loops, and a case for each number of elements that remain.
        size: the length in a call.
        sizes: all lengths that it may be.
        lanes: elements of a vector.
        write: takes as many vectors as one of ``groups`` says.
        carried: values before the first vector.
        groups: vectors at a time, fewer and fewer, of a loop each; 1 comes last.

    Returns:
        What is carried after the last element.
    """
    sizes, start = [*sizes], 0
    for count in groups:
        group = count * lanes
        if max(sizes) >= group:
            end = emitter.linear([(emitter.quotient(size, group), group)])
            step = functools.partial(_step, emitter, lanes, count, write)
            carried = emitter.loop(start, end, group, carried, step)
            start = end

    def rest(count: int) -> Sequence[Value]:
        return write([(start, count)], carried) if count else carried

    rests = {size % lanes for size in sizes}
    cases: dict[int, Case] = {count: functools.partial(rest, count) for count in rests}
    return emitter.switch(emitter.difference(size, start), cases, carried)


def row_comparisons(lanes: int, groups: Sequence[int] = (1,)) -> int:
    """How often `varying_row` compares sizes: for each loop, and to find its case."""
    return len(groups) + lanes.bit_length() - 1


def halves(count: int) -> tuple[int, ...]:
    """A number of vectors, half of it, and so on to 1."""
    return tuple(count >> i for i in range(count.bit_length()))


def _step(
    emitter: Emitter,
    lanes: int,
    count: int,
    write: Write,
    at: Value,
    carried: Sequence[Value],
) -> Sequence[Value]:
    """``count`` vectors from a place on."""
    return write(
        [(emitter.offset(at, i * lanes), lanes) for i in range(count)], carried
    )


__all__ = ["Columns", "halves", "row_comparisons", "varying_row"]

"""Rows whose length a call says."""

import functools
from collections.abc import Callable, Iterable, Sequence

from morello.kernels.emitter import Case, Emitter, Value
from morello.machine.isa import Isa
from morello.spec import Dtype

_WORD = 4
"""Bytes of an element that a mask is for: LLVM 22 cuts others wrongly under some."""

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
    masked: bool = False,
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
        masked: whether ``write`` takes a number of elements that a call says: then the
            last vector has as many as remain, from one to all.

    Returns:
        What is carried after the last element.
    """
    sizes, start = [*sizes], 0
    before = emitter.offset(size, -1) if masked else size
    for count in groups:
        group = count * lanes
        if max(sizes) - masked >= group:
            end = emitter.linear([(emitter.quotient(before, group), group)])
            step = functools.partial(_step, emitter, lanes, count, write)
            carried = emitter.loop(start, end, group, carried, step)
            start = end
    if masked:
        return write([(start, emitter.difference(size, start))], carried)

    def rest(count: int) -> Sequence[Value]:
        return write([(start, count)], carried) if count else carried

    rests = {size % lanes for size in sizes}
    cases: dict[int, Case] = {count: functools.partial(rest, count) for count in rests}
    return emitter.switch(emitter.difference(size, start), cases, carried)


def row_comparisons(
    lanes: int, groups: Sequence[int] = (1,), masked: bool = False
) -> int:
    """How often `varying_row` compares sizes: for each loop, and to find its case."""
    return len(groups) + (0 if masked else lanes.bit_length() - 1)


def takes_masks(isa: Isa, dtypes: Iterable[Dtype], written: Iterable[Dtype]) -> bool:
    """Whether as many elements as a call says are read and written by one instruction.

    Args:
        isa: the instruction set.
        dtypes: of all operands that have vectors.
        written: those of outputs.
    """
    masked = all(d.itemsize == _WORD and isa.loads_masked(d) for d in dtypes)
    return masked and all(isa.stores_masked(d) for d in written)


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


__all__ = ["Columns", "halves", "row_comparisons", "takes_masks", "varying_row"]

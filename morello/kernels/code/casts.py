"""Casts inside of kernels: which vectors they go by, and what they cost."""

from morello.cost.counts import Ops, add
from morello.machine.isa import Isa
from morello.spec import Dtype


def cast_lanes(isa: Isa, *dtypes: Dtype) -> int:
    """Elements of a vector in which any of these dtypes fits a register."""
    return min(isa.lanes(dtype) for dtype in _held(dtypes))


def _held(dtypes: tuple[Dtype, ...]) -> tuple[Dtype, ...]:
    """The dtypes, and f32 if narrow floats are cast to each other through it."""
    narrow = {dtype for dtype in dtypes if dtype.computes_in}
    return (*dtypes, Dtype.F32) if len(narrow) > 1 else dtypes


def cast_ops(dtypes: tuple[Dtype, ...]) -> Ops:
    """The instructions that cast a vector of `cast_lanes` elements, in registers.

    ``dtypes`` are those of source and destination, as a move has them.
    Integers are extended or cut off by shuffles, and moved to another zero point by
    an addition; floats are widened, then rounded (`_WIDEN`, `_ROUND`).
    """
    source, dest = dtypes
    if source is dest or (source.itemsize == dest.itemsize and not source.is_float):
        return {}
    if source.is_float and not dest.is_float:
        return {"vector_op": 1, "shuffle": 2}
    if source.is_float:
        widened = _WIDEN if source.computes_in else {}
        rounded = _ROUND_TO_HALF if dest.is_upper_half else _ROUND
        return add(widened, rounded if dest.computes_in else {})
    if dest.is_float:
        return {"vector_op": 1, "shuffle": 1}
    moved = 1 if source.zero_point != dest.zero_point else 0
    shuffles = 1 if source.itemsize < dest.itemsize else 2
    return {"vector_op": moved, "shuffle": shuffles}


_WIDEN: Ops = {"vector_op": 1, "shuffle": 1}
"""The instructions that widen a vector to f32: the upper half of an f32 by an extension
and a shift, another narrow float by one of two operations."""

_ROUND: Ops = {"vector_op": 1, "shuffle": 1}
"""The instructions that round a vector of f32, one of two operations."""

_ROUND_TO_HALF: Ops = {"vector_op": 7, "shuffle": 2}
"""Rounding to the upper half: four operations, three that put in a NaN, and a cut."""

"""Casts inside of kernels: which vectors they go by, and what they cost."""

from morello.cost.counts import Ops
from morello.machine.isa import Isa
from morello.spec import Dtype


def cast_lanes(isa: Isa, *dtypes: Dtype) -> int:
    """Elements of a vector in which any of these dtypes fits a register."""
    return min(map(isa.lanes, dtypes))


def cast_ops(dtypes: tuple[Dtype, ...]) -> Ops:
    """The instructions that cast a vector of `cast_lanes` elements, in registers.

    ``dtypes`` are those of source and destination, as a move has them.
    Integers are extended or cut off by shuffles, and moved to another zero point by
    an addition; bf16 becomes f32 by one and a shift;
    f32 is rounded to bf16 by four operations, and a NaN is put in by three.
    """
    source, dest = dtypes
    if source.itemsize == dest.itemsize:
        return {}
    if source is Dtype.F32:
        return {"vector_op": 7, "shuffle": 2}
    if source.is_float:
        return {"vector_op": 1, "shuffle": 1}
    moved = 1 if source.zero_point != dest.zero_point else 0
    shuffles = 1 if source.itemsize < dest.itemsize else 2
    return {"vector_op": moved, "shuffle": shuffles}

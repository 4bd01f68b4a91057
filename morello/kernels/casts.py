"""Casts inside of kernels: which vectors they go by, and what they cost."""

from morello.cost.coefficients import Coefficients
from morello.machine.isa import Isa
from morello.spec import Dtype


def cast_lanes(isa: Isa, *dtypes: Dtype) -> int:
    """Elements of a vector in which any of these dtypes fits a register."""
    return min(map(isa.lanes, dtypes))


def cast_cost(dtypes: tuple[Dtype, ...], coefficients: Coefficients) -> int:
    """Millicycles to cast a vector of `cast_lanes` elements, in registers.

    ``dtypes`` are those of source and destination, as a move has them.
    Integers are extended or cut off by shuffles, and moved to another zero point by
    an addition; bf16 becomes f32 by one and a shift;
    f32 is rounded to bf16 by four operations, and a NaN is put in by three.
    """
    c = coefficients
    source, dest = dtypes
    if source.itemsize == dest.itemsize:
        return 0
    if source is Dtype.F32:
        return 7 * c.vector_op + 2 * c.shuffle
    if source.is_float:
        return c.shuffle + c.vector_op
    moved = c.vector_op if source.zero_point != dest.zero_point else 0
    return moved + (c.shuffle if source.itemsize < dest.itemsize else 2 * c.shuffle)

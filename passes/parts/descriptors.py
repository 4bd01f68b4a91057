"""Fields of the LLVM structure that a memref becomes: address, offset, strides."""

from morello.mlir import ir

ALIGNED, OFFSET, STRIDES = 1, 2, 4
"""Fields: the address of the elements, how many lie before the first of the memref, and
how many from one index of a dimension to the next."""


def field_of(memref: ir.Value, *position: int) -> ir.Value:
    """A field of the structure that a memref will be, as an address or an i64.

    Args:
        memref: the memref.
        position: the field, and for `STRIDES` the dimension.
    """
    rank = ir.MemRefType(memref.type).rank
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    whole = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")
    cast = ir.Operation.create(
        "builtin.unrealized_conversion_cast", [whole], [memref]
    ).results[0]
    kind = "!llvm.ptr" if position == (ALIGNED,) else "i64"
    return ir.Operation.create(
        "llvm.extractvalue",
        [ir.Type.parse(kind)],
        [cast],
        {"position": ir.DenseI64ArrayAttr.get(list(position))},
    ).results[0]

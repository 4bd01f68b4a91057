"""MLIR values that kernels are written with: constants, casts, instructions."""

from collections.abc import Sequence
from typing import Any

from morello.kernels.emitter import Value
from morello.mlir import dialect, ir
from morello.spec import Dtype

arith = dialect("arith")


def element_type(dtype: Dtype) -> ir.Type:
    """The MLIR type of an element."""
    return ir.Type.parse(dtype.mlir)


def constant_of(element: ir.Type, number: float | int) -> ir.Attribute:
    """A number as an attribute of an element type; integers wrap."""
    if isinstance(element, ir.IntegerType):
        bits = element.width
        wrapped = (int(number) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        return ir.IntegerAttr.get(element, wrapped)
    return ir.FloatAttr.get(element, number)


def element_of(value: Value) -> ir.Type:
    """The element type of a vector, or the type of a scalar."""
    kind = value.type
    return kind.element_type if isinstance(kind, ir.VectorType) else kind


def ieee_maximum(a: Value, b: Value) -> Value:
    """IEEE ``maximum`` of f32 in five plain instructions, none of them a branch.

    MAXPS gives its second operand where the two are unordered or equal. Both ways round
    they differ for zeros, whose conjunction is +0 unless both are -0, and for NaN,
    where all bits are set. (`arith.maximumf` takes three blends, and for scalars LLVM
    makes a branch of it.)
    """
    return _extreme(a, b, arith.CmpFPredicate.OGT, arith.AndIOp)


def ieee_minimum(a: Value, b: Value) -> Value:
    """IEEE ``minimum`` of f32 likewise: of zeros the disjunction is -0 if one is."""
    return _extreme(a, b, arith.CmpFPredicate.OLT, arith.OrIOp)


def _extreme(a: Value, b: Value, first: Any, of_zeros: Any) -> Value:
    """The one that is before the other, or what ``of_zeros`` makes of the bits of both
    where they are equal; all bits where one is NaN."""
    one = arith.SelectOp(arith.CmpFOp(first, a, b).result, a, b).result
    other = arith.SelectOp(arith.CmpFOp(first, b, a).result, b, a).result
    word = ir.IntegerType.get_signless(32)
    kind = a.type
    integers = (
        ir.VectorType.get(kind.shape, word) if isinstance(kind, ir.VectorType) else word
    )
    bits = [arith.BitcastOp(integers, v).result for v in (one, other)]
    unordered = arith.CmpFOp(arith.CmpFPredicate.UNO, a, b).result
    nan = arith.ExtSIOp(integers, unordered).result
    extreme = arith.OrIOp(of_zeros(*bits).result, nan).result
    return arith.BitcastOp(kind, extreme).result


def shaped(like: Value, element: ir.Type) -> ir.Type:
    """The type of a scalar or of a vector as long as another, of other elements."""
    kind = like.type
    return (
        ir.VectorType.get(kind.shape, element)
        if isinstance(kind, ir.VectorType)
        else element
    )


def splat(kind: ir.Type, number: int) -> Value:
    """An integer as a constant scalar, or in every lane."""
    if isinstance(kind, ir.VectorType):
        value: ir.Attribute = ir.DenseElementsAttr.get_splat(
            kind, constant_of(kind.element_type, number)
        )
    else:
        value = constant_of(kind, number)
    return arith.ConstantOp(kind, value).result


def widen(value: Value, dtype: Dtype) -> Value:
    """A narrow float as the f32 that it is computed in: the upper half of one by a
    shift of its bits; another by an instruction, which makes NaN quiet."""
    wide = shaped(value, ir.F32Type.get())
    if not dtype.is_upper_half:
        return arith.ExtFOp(wide, value).result
    half, word = (shaped(value, ir.IntegerType.get_signless(b)) for b in (16, 32))
    bits = arith.ExtUIOp(word, arith.BitcastOp(half, value).result).result
    upper = arith.ShLIOp(bits, splat(word, 16)).result
    return arith.BitcastOp(wide, upper).result


def rounded(value: Value, dtype: Dtype) -> Value:
    """An f32 as a narrow float: the nearest, ties to even; NaN becomes quiet. As
    `morello/spec/elements/casts.py` defines it."""
    narrow = shaped(value, ir.Type.parse(dtype.mlir))
    if not dtype.is_upper_half:
        return arith.TruncFOp(narrow, value).result
    half, word = (shaped(value, ir.IntegerType.get_signless(b)) for b in (16, 32))
    bits = arith.BitcastOp(word, value).result
    upper = arith.ShRUIOp(bits, splat(word, 16)).result
    odd = arith.AndIOp(upper, splat(word, 1)).result
    step = arith.AddIOp(odd, splat(word, 0x7FFF)).result
    moved = arith.AddIOp(bits, step).result
    nearest = arith.ShRUIOp(moved, splat(word, 16)).result
    quiet = arith.OrIOp(upper, splat(word, 0x40)).result
    nan = arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result
    chosen = arith.SelectOp(nan, quiet, nearest).result
    cut = arith.TruncIOp(half, chosen).result
    return arith.BitcastOp(narrow, cut).result


def plus(value: Value, number: int) -> Value:
    """A number added to an integer or to each lane, wrapping."""
    return arith.AddIOp(value, splat(value.type, number)).result


def call(name: str, kind: ir.Type, *operands: Value) -> Value:
    """Call an instruction, by the name of its intrinsic, on some values."""
    return _call(name, [kind], operands).results[0]


def run(name: str, *operands: Value) -> None:
    """Call an instruction without a result."""
    _call(name, [], operands)


def _call(
    name: str, results: Sequence[ir.Type], operands: Sequence[Value]
) -> ir.Operation:
    return ir.Operation.create(
        "llvm.call_intrinsic",
        results=list(results),
        operands=list(operands),
        attributes={
            "intrin": ir.StringAttr.get(name),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        },
    )


def opaque(values: Sequence[Value], register: str) -> list[Value]:
    """Hide how values are computed from LLVM, by inline assembly without an
    instruction.

    Nothing that uses one of them comes before any of the given ones is computed.

    Args:
        values: scalars or vectors.
        register: what inline assembly calls the registers that they are in.
    """
    kinds = [value.type for value in values]
    places = [str(place) for place in range(len(kinds))]
    several = f"!llvm.struct<({', '.join(map(str, kinds))})>"
    passed = ir.Operation.create(
        "llvm.inline_asm",
        results=[ir.Type.parse(several) if len(kinds) > 1 else kinds[0]],
        operands=list(values),
        attributes={
            "asm_string": ir.StringAttr.get(""),
            "constraints": ir.StringAttr.get(
                ",".join([f"={register}"] * len(kinds) + places)
            ),
        },
    ).results[0]
    if len(kinds) == 1:
        return [passed]
    return [
        ir.Operation.create(
            "llvm.extractvalue",
            results=[kind],
            operands=[passed],
            attributes={"position": ir.DenseI64ArrayAttr.get([place])},
        ).results[0]
        for place, kind in enumerate(kinds)
    ]

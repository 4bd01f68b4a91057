"""``morello.range_check``: whether all elements of an operand are in a smaller range.

`morello_transform.specialize_range` branches on it; `morello-lower-kernels` writes its
code.
"""

from collections.abc import Sequence
from typing import Any

from morello.dialect.attributes import string_of, tensor_attr, tensor_of
from morello.dialect.definition import Morello, Operand, Result
from morello.dialect.memrefs import check_memref
from morello.dialect.spec_op import required, verified
from morello.errors import SpecError
from morello.mlir import ir
from morello.spec import Dtype, Fill, Limits, Spec, TensorSpec

_TENSOR = "tensor = #morello.tensor<…>, the form of the operand"


class RangeCheckOp(Morello.Operation, name="range_check"):
    """Whether all elements of ``source`` are values of the dtype ``part``.

    ``sizes`` and ``tensor`` are those of the operand: bytes in a cache or beyond,
    unpacked. ``part`` is a dtype with fewer values in the same bits.
    """

    source: Operand[Any]
    sizes: Any
    tensor: Any
    part: ir.StringAttr
    holds: Result[Any]

    @staticmethod
    def verify_invariants(op: Any) -> bool:
        """Report what does not fit together, at the op."""
        return verified(op, lambda: _check(op))


def build_range_check(
    source: ir.Value, tensor: TensorSpec, sizes: Sequence[int], part: Dtype
) -> ir.Value:
    """The op at the current insertion point, at the current location; its result."""
    op = ir.Operation.create(
        RangeCheckOp.OPERATION_NAME,
        results=[ir.IntegerType.get_signless(1)],
        operands=[source],
        attributes={
            "sizes": ir.DenseI64ArrayAttr.get(list(sizes)),
            "tensor": tensor_attr(tensor),
            "part": ir.StringAttr.get(str(part)),
        },
    )
    return op.results[0]


def read_range_check(op: Any) -> tuple[TensorSpec, tuple[int, ...], Dtype]:
    """The form and sizes of the operand of a ``morello.range_check``, and the dtype.

    Raises:
        SpecError: an attribute is missing or does not fit the others.
    """
    view = op.operation.opview
    remedy = "sizes = array<i64: …>, one for each dimension of the operand"
    sizes = required(view, "sizes", remedy).maybe_downcast()
    if not isinstance(sizes, ir.DenseI64ArrayAttr):
        raise SpecError(f"'sizes' is {sizes}", f"write {remedy}")
    tensor = tensor_of(required(view, "tensor", _TENSOR))
    part = Dtype.parse(string_of(required(view, "part", 'part = "s7"'), "'part'"))
    if tensor.dtype.part is not part:
        raise SpecError(
            f"'part' is {part}, which is no part of {tensor.dtype}",
            f"use {tensor.dtype.part or 'an operand of s8'}",
        )
    if tensor.layout.is_packed or tensor.vector_width:
        raise SpecError(
            f"the operand of form {tensor} is packed or in registers",
            "check it before it is moved",
        )
    return tensor, tuple(sizes), part


def _check(op: ir.OpView) -> None:
    tensor, sizes, _ = read_range_check(op)
    spec = Spec(Fill(len(sizes)), sizes, (tensor,), Limits(), True)
    if len(op.operands) != 1:
        raise SpecError(f"has {len(op.operands)} operands", "give it one, the source")
    check_memref(spec, 0, op.operands[0].type)
    if [str(result.type) for result in op.results] != ["i1"]:
        raise SpecError("has another result than one i1", "write -> i1")

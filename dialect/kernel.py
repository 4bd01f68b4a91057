"""``morello.kernel``: a kernel that was chosen to implement a Spec."""

from typing import Any

from morello.dialect.attributes import string_of
from morello.dialect.definition import Operand
from morello.dialect.ops import KINDS
from morello.dialect.spec_op import (
    SpecOp,
    check_memrefs,
    option_names,
    optional_options,
    read_spec,
    required,
    verified,
)
from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.mlir import ir
from morello.spec import Spec
from morello.spec.frame import Frame

MAX_OPERANDS = 4
"""How many operands a kind may have."""

SEGMENTS = "operandSegmentSizes"
"""The attribute that says which operands an op has."""


class KernelOp(SpecOp, name="kernel"):
    """A leaf of a program.

    It has the memrefs of the kind's operands, `MAX_OPERANDS` at most. (IRDL wants all
    of one variadic group to have one type, so each has a group of its own.)
    ``kernel`` is its name in `morello.kernels.KERNELS`; ``kind`` and ``options`` are
    the name and the options of the kind, as the Spec op had them.
    """

    kernel: ir.StringAttr
    kind: ir.StringAttr
    options: ir.DictAttr
    arg0: Operand[Any] | None = None
    arg1: Operand[Any] | None = None
    arg2: Operand[Any] | None = None
    arg3: Operand[Any] | None = None

    @staticmethod
    def verify_invariants(op: Any) -> bool:
        """Report what does not fit together, at the op."""
        return verified(op, lambda: _check(op))


def read_kernel_op(op: ir.OpView) -> tuple[str, Spec]:
    """The name of the kernel, and the Spec that it implements.

    Raises:
        SpecError: an attribute is missing, or the attributes make no Spec.
    """
    kernel = required(op, "kernel", 'kernel = "…"')
    kind_name = string_of(required(op, "kind", 'kind = "matmul"'), "'kind'")
    if kind_name not in KINDS:
        raise SpecError(f"unknown kind '{kind_name}'", f"use one of {', '.join(KINDS)}")
    kind_class = KINDS[kind_name]
    given = required(op, "options", "options = {…}, those of the kind").maybe_downcast()
    names = option_names(kind_class)
    needed = [name for name in names if name not in optional_options(kind_class)]
    fits = isinstance(given, ir.DictAttr) and (
        {*needed} <= {n.name for n in given} <= {*names}
    )
    if not fits:
        raise SpecError(
            f"'options' of {kind_name} is {given}",
            f"write options = {{{', '.join(f'{name} = …' for name in needed)}}}",
        )
    options = {name: given[name] for name in names if name in given}
    return string_of(kernel, "'kernel'"), read_spec(op, kind_class, options)


def segments(count: int) -> ir.Attribute:
    """The attribute `SEGMENTS` of a kernel op with ``count`` operands."""
    return ir.DenseI32ArrayAttr.get([int(i < count) for i in range(MAX_OPERANDS)])


def _check(op: ir.OpView) -> None:
    name, spec = read_kernel_op(op)
    if name not in KERNELS:
        raise SpecError(f"unknown kernel '{name}'", f"use one of {', '.join(KERNELS)}")
    kernel = KERNELS[name]
    if not kernel.accepts(spec.key):
        legal = [n for n, k in KERNELS.items() if k.accepts(spec.key)]
        raise SpecError(
            f"kernel '{name}' does not implement {spec}",
            f"those that do: {', '.join(legal) or 'none'}",
        )
    for condition in kernel.conditions(Frame.of(spec)):
        if not condition.holds:
            raise SpecError(
                f"kernel '{name}' does not implement {spec}: {condition.text}"
            )
    check_memrefs(op, spec)
    legal_segments = segments(len(op.operands))
    given = required(op, SEGMENTS, f"{SEGMENTS} = {legal_segments}")
    if given != legal_segments:
        raise SpecError(f"'{SEGMENTS}' is {given}", f"it must be {legal_segments}")

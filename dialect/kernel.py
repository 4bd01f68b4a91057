"""``morello.kernel``: a kernel that was chosen to implement a Spec."""

import types
from typing import Any

from morello.dialect.attributes import string_of
from morello.dialect.operand_groups import check_segments, operand_groups
from morello.dialect.options import option_forms, optional_options
from morello.dialect.spec_op import SpecOp, check_memrefs, read_spec, required, verified
from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.mlir import ir
from morello.spec import Spec
from morello.spec.frame import Frame
from morello.spec.kinds import KINDS
from morello.suggestions import did_you_mean

_KINDS = {kind.name: kind for kind in KINDS}


class _Kernel(SpecOp):
    """A leaf of a program.

    It has the memrefs of the kind's operands, `MAX_OPERANDS` at most. (IRDL wants all
    of one variadic group to have one type, so each has a group of its own.)
    ``kernel`` is its name in `morello.kernels.KERNELS`; ``kind`` and ``options`` are
    the name and the options of the kind, as the Spec op had them.
    """

    @staticmethod
    def verify_invariants(op: Any) -> bool:
        """Report what does not fit together, at the op."""
        return verified(op, lambda: _check(op))


def _kernel_op() -> type[_Kernel]:
    operands = operand_groups()
    body: dict[str, Any] = {
        "__doc__": _Kernel.__doc__,
        "__annotations__": {
            "kernel": ir.StringAttr,
            "kind": ir.StringAttr,
            "options": ir.DictAttr,
            **operands,
        },
        **dict.fromkeys(operands),
    }
    op_class: type[_Kernel] = types.new_class(
        "KernelOp", (_Kernel,), {"name": "kernel"}, lambda n: n.update(body)
    )
    return op_class


KernelOp = _kernel_op()
"""The op."""


def read_kernel_op(op: ir.OpView) -> tuple[str, Spec]:
    """The name of the kernel, and the Spec that it implements.

    Raises:
        SpecError: an attribute is missing, or the attributes make no Spec.
    """
    kernel = required(op, "kernel", 'kernel = "…"')
    kind_name = string_of(required(op, "kind", 'kind = "matmul"'), "'kind'")
    if kind_name not in _KINDS:
        legal = ", ".join(_KINDS)
        raise SpecError(
            f"unknown kind '{kind_name}'",
            f"use one of {legal}{did_you_mean(kind_name, legal.split(', '))}",
        )
    kind_class = _KINDS[kind_name]
    attribute = required(
        op, "options", "options = {…}, those of the kind"
    ).maybe_downcast()
    names = option_forms(kind_class)
    needed = [name for name in names if name not in optional_options(kind_class)]
    fits = isinstance(attribute, ir.DictAttr) and (
        {*needed} <= {n.name for n in attribute} <= {*names}
    )
    if not fits:
        raise SpecError(
            f"'options' of {kind_name} is {attribute}",
            f"write options = {{{', '.join(f'{name} = …' for name in needed)}}}",
        )
    options = {name: attribute[name] for name in names if name in attribute}
    return string_of(kernel, "'kernel'"), read_spec(op, kind_class, options)


def _check(op: ir.OpView) -> None:
    name, spec = read_kernel_op(op)
    if name not in KERNELS:
        raise SpecError(
            f"unknown kernel '{name}'",
            f"use one of {', '.join(KERNELS)}{did_you_mean(name, KERNELS)}",
        )
    kernel = KERNELS[name]
    if not kernel.accepts(spec.key):
        legal = [n for n, k in KERNELS.items() if k.accepts(spec.key)]
        raise SpecError(
            f"kernel '{name}' does not implement {spec}",
            f"those that do: {', '.join(legal) or 'none'}",
        )
    if spec.ranges and not kernel.takes_any(spec):
        raise SpecError(f"kernel '{name}' takes settled sizes, not {spec}")
    for condition in kernel.conditions(Frame.of(spec)):
        is_asked = not (spec.ranges and condition.is_of_settled)
        if is_asked and not condition.holds:
            raise SpecError(
                f"kernel '{name}' does not implement {spec}: {condition.text}"
            )
    check_memrefs(op, spec)
    check_segments(op)

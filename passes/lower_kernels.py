"""`morello-lower-kernels`: replace every ``morello.kernel`` by the kernel's code."""

import dataclasses
from collections import defaultdict
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from morello.dialect.build import kernel_of, spec_of
from morello.dialect.ops import SPEC_OPS
from morello.dialect.range_check import RangeCheckOp, read_range_check
from morello.errors import SpecError
from morello.kernels import KERNELS, Kernel
from morello.machine.isa import AVX2, Op
from morello.mlir import all_ops, ir, replace_op
from morello.passes.base import Pass, PassFailure
from morello.passes.parts.emission import emit_kernel, emit_range_check
from morello.passes.parts.float_control import guard_float_control
from morello.passes.parts.shared_kernels import call_form, outlined
from morello.passes.parts.tiles import release_tiles
from morello.spec import Spec
from morello.spec.frame import Frame
from morello.suggestions import did_you_mean


@dataclasses.dataclass(frozen=True)
class _Leaf:
    """Op ``morello.kernel`` whose kernel and Spec were checked."""

    op: ir.Operation
    kernel: Kernel
    spec: Spec

    @property
    def computes_with_floats(self) -> bool:
        """Whether it depends on how the thread treats floats: denormals, rounding,
        traps. Copies work on bits."""
        kind, dtypes = self.spec.kind, set(self.spec.dtypes)
        reads = any(operand.is_read for operand in kind.operands)
        copies = kind.moves_data and len(dtypes) == 1
        floats = reads and not copies and any(dtype.is_float for dtype in dtypes)
        return floats or self.kernel.needs_denormals


def _legal(spec: Spec) -> str:
    """Name the kernels that take ``spec``, in place of one that does not."""
    frame = Frame.of(spec)
    names = [
        name
        for name, kernel in KERNELS.items()
        if kernel.accepts(spec.key)
        and all(np.all(c.holds) for c in kernel.conditions(frame))
    ]
    return f"use {' or '.join(names)}" if names else "no kernel takes it: tile or move"


def _check(op: ir.Operation) -> _Leaf:
    """Check an op, and read its kernel and its Spec.

    Raises:
        PassFailure: the kernel is unknown or does not take the Spec; the op is a Spec
            op, which no schedule has made into kernels.
    """
    if op.name in SPEC_OPS:
        raise PassFailure(
            op.location,
            f"'{op.name}' op has no program: its schedule leaves {spec_of(op)}; "
            "add actions down to select, or run morello-synthesize",
        )
    try:
        name, spec = kernel_of(op)
    except SpecError as error:
        raise PassFailure(op.location, str(error)) from error
    if name not in KERNELS:
        raise PassFailure(
            op.location,
            f"no kernel is called '{name}'; use one of {', '.join(KERNELS)}"
            + did_you_mean(name, KERNELS),
        )
    kernel = KERNELS[name]
    if not kernel.accepts(spec.key):
        raise PassFailure(
            op.location,
            f"kernel {name} does not take {spec}: its kind, dtypes, levels or layouts "
            f"are not its own; {_legal(spec)}",
        )
    if spec.ranges and not kernel.takes_any(spec):
        raise PassFailure(
            op.location,
            f"kernel {name} takes settled sizes, not {spec}; part them by range",
        )
    for condition in kernel.conditions(Frame.of(spec)):
        is_asked = not (spec.ranges and condition.is_of_settled)
        if is_asked and not np.all(condition.holds):
            raise PassFailure(
                op.location,
                f"kernel {name} does not take {spec}: it {condition.text}; "
                f"{_legal(spec)}",
            )
    return _Leaf(op, kernel, spec)


@dataclasses.dataclass(frozen=True)
class LowerKernels(Pass):
    """Replace every ``morello.kernel`` by the vector code of its kernel.

    Before: ``morello.kernel`` ops on strided memrefs, or on memrefs of vectors for
    registers; ``morello.range_check`` ops. After: vector, arith, math, memref and scf
    ops in their places, with a ``memref.alloc`` where a kernel has memory of its own; a
    guard of MXCSR in functions and parallel loops whose kernels compute with floats; an
    instruction at the end of those with kernels in tiles that releases these. Equal
    kernels of a function that takes the sizes of a call, whose work is much, are calls
    of one private function.
    Refuses: a kernel that is not known, or that does not take the Spec it is given; a
    Spec op, which no schedule has made into kernels.
    """

    name: ClassVar[str] = "morello-lower-kernels"

    def run(self, module: ir.Operation) -> None:
        """Check every kernel op, then emit them all.

        Raises:
            PassFailure: at the op that is refused.
        """
        kernels = all_ops(module, "morello.kernel", *SPEC_OPS, outer_first=True)
        looks = all_ops(module, RangeCheckOp.OPERATION_NAME, outer_first=True)
        leaves = [_check(op) for op in kernels]
        guard_float_control(leaf.op for leaf in leaves if leaf.computes_with_floats)
        tiles = [leaf.op for leaf in leaves if leaf.kernel.isa.has(Op.TILE_RELEASE)]
        release_tiles(tiles)
        forms: defaultdict[Hashable, list[_Leaf]] = defaultdict(list)
        for leaf in leaves:
            form = call_form(leaf.op, leaf.kernel.name, leaf.spec)
            forms[form or len(forms)].append(leaf)
        for leaf, *others in forms.values():
            op = leaf.op
            if others:
                every = [op, *(other.op for other in others)]
                op = outlined(every, leaf.kernel.name, leaf.spec)
            emit_kernel(leaf.kernel, leaf.spec, list(op.operands), op)
            op.erase()
        for op in looks:
            tensor, sizes, part = read_range_check(op)
            value = emit_range_check(op.operands[0], tensor, sizes, part, AVX2, op)
            replace_op(op, value)

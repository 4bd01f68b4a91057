"""`morello-entry-points`: make functions fit for the bare-pointer calling convention.

The conversions after it leave a function of dynamic shape alone without a word, trust
an alignment that NumPy does not promise, and let an ``alloca`` in a loop eat the stack.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.mlir import ir
from morello.passes.base import Pass, PassFailure

_MEMREFS = (ir.MemRefType, ir.UnrankedMemRefType)


def _functions(module: ir.Operation) -> Iterator[ir.Operation]:
    """The functions with a body, in order."""
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and len(op.regions[0].blocks):
            yield op.operation


def _symbol(function: ir.Operation) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)


def _check_memref(argument: ir.BlockArgument, function: ir.Operation) -> None:
    """Refuse a memref argument whose pointer alone does not say where its elements are.

    Raises:
        PassFailure: at the function.
    """
    memref = ir.MemRefType(argument.type)
    where = f"argument {argument.arg_number} of '{_symbol(function)}' ({memref})"
    if not memref.has_static_shape:
        raise PassFailure(
            function.location,
            f"{where} has a dynamic shape; give every argument a static shape",
        )
    try:
        strides, offset = memref.get_strides_and_offset()
    except RuntimeError as error:
        raise PassFailure(
            function.location,
            f"{where} has a layout that is not strided; write it as strided<[...]>",
        ) from error
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    if offset != 0 or dynamic in strides:
        raise PassFailure(
            function.location,
            f"{where} has an offset or a dynamic stride, which a bare pointer cannot "
            "carry; make it static and start at the first element",
        )
    if isinstance(memref.element_type, ir.VectorType):
        raise PassFailure(
            function.location,
            f"{where} promises the alignment of a vector; take scalars, or a view of "
            "the workspace",
        )


def _check_signature(function: ir.Operation) -> None:
    """Refuse results, and arguments that are not memrefs or scalars.

    Raises:
        PassFailure: at the function.
    """
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    if any(isinstance(result, _MEMREFS) for result in kind.results):
        raise PassFailure(
            function.location,
            f"'{_symbol(function)}' returns a memref; take it as an argument instead",
        )
    for argument in function.regions[0].blocks[0].arguments:
        if isinstance(argument.type, ir.UnrankedMemRefType):
            raise PassFailure(
                function.location,
                f"argument {argument.arg_number} of '{_symbol(function)}' "
                f"({argument.type}) has no rank; give it a static shape",
            )
        if isinstance(argument.type, ir.MemRefType):
            _check_memref(argument, function)


def _runs_once(op: ir.Operation, entry: ir.Block) -> bool:
    """Whether an op runs once in a call, or once in each thread."""
    around = op.parent.operation
    first = around.regions[0].blocks[0]
    in_team = around.name == "omp.parallel" and op.block == first
    return bool(in_team or op.block == entry)


def _check_allocas(function: ir.Operation) -> None:
    """Refuse an ``alloca`` that would run more than once in a call.

    Raises:
        PassFailure: at the ``memref.alloca``.
    """
    entry = function.regions[0].blocks[0]
    failures: list[PassFailure] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.alloca" and not _runs_once(op, entry):
            failures.append(
                PassFailure(
                    op.location,
                    "memref.alloca outside of the entry block takes stack again at "
                    "each iteration; move it to the entry of the function or of an "
                    "omp.parallel",
                )
            )
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    if failures:
        raise failures[0]


def _is_public(function: ir.Operation) -> bool:
    """Whether code outside of the module may call it."""
    if "sym_visibility" not in function.attributes:
        return True
    return str(ir.StringAttr(function.attributes["sym_visibility"]).value) == "public"


def _mark_noalias(function: ir.Operation) -> None:
    """Set ``llvm.noalias`` on every memref argument, keeping other attributes."""
    arguments = function.regions[0].blocks[0].arguments
    if not len(arguments):
        return
    given = (
        ir.ArrayAttr(function.attributes["arg_attrs"])
        if "arg_attrs" in function.attributes
        else [ir.DictAttr.get({})] * len(arguments)
    )
    marked = []
    for argument, attribute in zip(arguments, given, strict=True):
        named = {entry.name: entry.attr for entry in ir.DictAttr(attribute)}
        if isinstance(argument.type, ir.MemRefType):
            named["llvm.noalias"] = ir.UnitAttr.get()
        marked.append(ir.DictAttr.get(named))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(marked)


@dataclasses.dataclass(frozen=True)
class EntryPoints(Pass):
    """Mark memref arguments noalias and refuse types that bare pointers cannot carry.

    Before: ``func.func``; callers of public functions pass buffers that do not overlap.
    After: every memref argument of a public function with a body is ``llvm.noalias``.
    Private functions keep their attributes, since nobody checks their arguments.
    Refuses: arguments of dynamic shape, with an offset or of vectors; results that are
    memrefs; a ``memref.alloca`` outside of the entry block.
    """

    name: ClassVar[str] = "morello-entry-points"

    def run(self, module: ir.Operation) -> None:
        """Check every function, then mark the public ones.

        Raises:
            PassFailure: at the function or the ``memref.alloca`` that is refused.
        """
        functions = list(_functions(module))
        for function in functions:
            _check_signature(function)
            _check_allocas(function)
        with module.context:
            for function in filter(_is_public, functions):
                _mark_noalias(function)

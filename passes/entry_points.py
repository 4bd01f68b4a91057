"""`morello-entry-points`: make functions fit for the bare-pointer calling convention.

The conversions after it leave a function of dynamic shape alone without a word, trust
an alignment that NumPy does not promise, and let an ``alloca`` in a loop eat the stack.

A bare pointer carries no strides. Those of an argument whose rows are as far apart as a
call says are made of one number, which the function takes after all other arguments;
those of an argument with dimensions whose size the call says, of these sizes.
"""

import dataclasses
from typing import ClassVar

from morello.dialect.memrefs import index, recast
from morello.dialect.sizes import places_of_sizes, sized_view, sizes_taken
from morello.mlir import all_ops, defined_functions, dialect, ir
from morello.passes.base import Pass, PassFailure

_MEMREFS = (ir.MemRefType, ir.UnrankedMemRefType)

_DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()


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
    has_any_row = _has_any_row(memref) and _is_public(function)
    has_any_row |= sizes_taken(function) > 0
    if offset != 0 or (_DYNAMIC in strides and not has_any_row):
        raise PassFailure(
            function.location,
            f"{where} has an offset or a dynamic stride, which a bare pointer cannot "
            "carry; make it static and start at the first element. Only an argument of "
            "a public function may have rows any distance apart: strided<[?, 1]>, all "
            "strides but the last one dynamic; and one of a function that takes a "
            "size, strides that follow from it",
        )
    if isinstance(memref.element_type, ir.VectorType):
        raise PassFailure(
            function.location,
            f"{where} promises the alignment of a vector; take scalars, or a view of "
            "the workspace",
        )


def _has_any_row(memref: ir.MemRefType) -> bool:
    """Whether a call says how far the rows of a memref are apart."""
    strides, _ = memref.get_strides_and_offset()
    return len(strides) > 1 and strides == [_DYNAMIC] * (len(strides) - 1) + [1]


def _sizes_of(function: ir.Operation) -> list[ir.Value]:
    """The sizes that a call of a function says."""
    arguments = list(function.regions[0].blocks[0].arguments)
    return arguments[len(arguments) - sizes_taken(function) :]


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
    for op in all_ops(function, "memref.alloca", outer_first=True):
        if not _runs_once(op, entry):
            raise PassFailure(
                op.location,
                "memref.alloca outside of the entry block takes stack again at each "
                "iteration; move it to the entry of the function or of an omp.parallel",
            )


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
    attributes = (
        ir.ArrayAttr(function.attributes["arg_attrs"])
        if "arg_attrs" in function.attributes
        else [ir.DictAttr.get({})] * len(arguments)
    )
    marked = []
    for argument, attribute in zip(arguments, attributes, strict=True):
        named = {entry.name: entry.attr for entry in ir.DictAttr(attribute)}
        if isinstance(argument.type, ir.MemRefType):
            named["llvm.noalias"] = ir.UnitAttr.get()
        marked.append(ir.DictAttr.get(named))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(marked)


def _take_rows(function: ir.Operation) -> None:
    """Take how far rows are apart as numbers, one for each argument that lacks it and
    whose strides do not follow from the sizes of the call."""
    entry, sizes = function.regions[0].blocks[0], _sizes_of(function)
    for argument in list(entry.arguments):
        kind = argument.type
        if isinstance(kind, ir.MemRefType) and (
            _DYNAMIC in kind.get_strides_and_offset()[0]
        ):
            with ir.InsertionPoint.at_block_begin(entry), function.location:
                whole = ir.MemRefType.get(list(kind.shape), kind.element_type)
                argument.set_type(whole)
                if sizes:
                    places = places_of_sizes(function, argument.arg_number)
                    by_place = {place: sizes[n] for place, n in places.items()}
                    value = sized_view(argument, kind, by_place)
                else:
                    row = entry.add_argument(ir.IndexType.get(), function.location)
                    value = _rows_apart(argument, row, kind)
                argument.replace_all_uses_except(value, [value.owner.operation])
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    types = [argument.type for argument in entry.arguments]
    more = len(types) - len(signature.inputs)
    signature = ir.FunctionType.get(types, signature.results)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    if more and "arg_attrs" in function.attributes:
        attributes = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        marked = ir.ArrayAttr.get([*attributes, *[ir.DictAttr.get({})] * more])
        function.attributes["arg_attrs"] = marked


def _rows_apart(value: ir.Value, row: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Give an argument rows ``row`` elements apart: batches follow each other."""
    arith = dialect("arith")
    steps = [row]
    for extent in reversed(kind.shape[1:-1]):
        steps.append(arith.MulIOp(steps[-1], index(extent)).result)
    return recast(value, kind, strides=steps[::-1])


@dataclasses.dataclass(frozen=True)
class EntryPoints(Pass):
    """Mark memref arguments noalias and refuse types that bare pointers cannot carry.

    Before: ``func.func``; callers of public functions pass buffers that do not overlap.
    After: every memref argument of a public function with a body is ``llvm.noalias``.
    Private functions keep their attributes, since nobody checks their arguments. For
    each argument of type ``strided<[?, 1]>``, all strides but the last one dynamic, a
    public function takes an index after all others: the elements from row to row, from
    which the outer strides follow. Where a function takes sizes of a call, dynamic
    strides follow from these.
    Refuses: arguments of dynamic shape, with an offset or of vectors; results that are
    memrefs; a ``memref.alloca`` outside of the entry block.
    """

    name: ClassVar[str] = "morello-entry-points"

    def run(self, module: ir.Operation) -> None:
        """Check every function, then mark the public ones.

        Raises:
            PassFailure: at the function or the ``memref.alloca`` that is refused.
        """
        functions = defined_functions(module)
        for function in functions:
            _check_signature(function)
            _check_allocas(function)
        with module.context:
            for function in filter(_is_public, functions):
                _take_rows(function)
                _mark_noalias(function)

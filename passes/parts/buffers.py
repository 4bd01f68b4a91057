"""The buffers of a function, their owners and their lifetimes.

`Buffers` is the entry point. It refuses buffers that a workspace cannot hold, and
changes nothing.
"""

import dataclasses
from collections.abc import Iterator

from morello.mlir import ir, known_index
from morello.passes.base import PassFailure
from morello.passes.parts.placement import Lifetime

ALIASES = frozenset(
    {
        "builtin.unrealized_conversion_cast",
        "memref.cast", "memref.collapse_shape", "memref.expand_shape",
        "memref.extract_strided_metadata", "memref.memory_space_cast",
        "memref.reinterpret_cast", "memref.subview", "memref.transpose", "memref.view",
    }
)  # fmt: skip
"""Ops whose result is the same memory as their first operand."""

_ESCAPES = frozenset(
    {
        "func.call",
        "func.call_indirect",
        "func.return",
        "memref.extract_aligned_pointer_as_index",
        "scf.condition",
    }
)
"""Ops without memref results by which a buffer may outlive what can be seen."""

_MEMREFS = (ir.MemRefType, ir.UnrankedMemRefType)

_PARALLEL = "scf.parallel"
"""A loop whose iterations run at once: each has buffers of its own."""

_UNPLANNED = frozenset({"omp.parallel", "scf.forall"})
"""Bodies that several threads run at once, of a number that cannot be seen."""


def _size(op: ir.Operation) -> int:
    """The bytes of an ``alloc``.

    Raises:
        PassFailure: the strides are not known, or the array is not contiguous.
    """
    kind = ir.MemRefType(op.results[0].type)
    if not kind.has_static_shape:
        raise PassFailure(
            op.location,
            f"{kind} has a dynamic size, and the workspace is planned at compile time; "
            "give the buffer a static shape",
        )
    if kind.layout != ir.AffineMapAttr.get(ir.AffineMap.get_identity(kind.rank)):
        raise PassFailure(
            op.location,
            f"{kind} has a layout of its own, but a buffer of the workspace is "
            "row-major; put the padding or the order into its shape",
        )
    element = kind.element_type
    is_number = isinstance(element, (ir.IntegerType, ir.FloatType))
    # A truth value takes a byte.
    if not is_number or (element.width != 1 and element.width % 8):
        raise PassFailure(
            op.location,
            f"the workspace has no room for elements of type {element}; use integers "
            "or floats of whole bytes",
        )
    total = (int(element.width) + 7) // 8
    for extent in kind.shape:
        total *= extent
    return total


def _owner(op: ir.Operation) -> ir.Operation | None:
    """Parallel loop in which a buffer is allocated; None outside of any.

    Raises:
        PassFailure: a parallel region of which nothing is known, or one in another.
    """
    loops: list[ir.Operation] = []
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name in _UNPLANNED:
            raise PassFailure(
                op.location,
                f"a buffer inside {parent.name} would be shared by its threads; use "
                f"{_PARALLEL} over constant bounds, or allocate outside of it",
            )
        if parent.name == _PARALLEL:
            loops.append(parent.operation)
        parent = parent.parent.operation if parent.parent else None
    if len(loops) > 1:
        raise PassFailure(
            op.location,
            f"a buffer inside two nested {_PARALLEL}; make the inner one serial",
        )
    return loops[0] if loops else None


def iterations(loop: ir.Operation) -> int:
    """The number of iterations of a parallel loop from 0 by 1.

    Raises:
        PassFailure: it has another form, or bounds that are not known.
    """
    bounds = [known_index(operand) for operand in loop.operands]
    if len(bounds) != 3 or bounds[0] != 0 or bounds[2] != 1 or bounds[1] is None:
        raise PassFailure(
            loop.location,
            f"{_PARALLEL} has buffers in it, so that it must run from 0 to a constant "
            "by 1, in one dimension",
        )
    return bounds[1]


def _refuse_branches(op: ir.Operation) -> None:
    if len(op.block.region.blocks) > 1:
        raise PassFailure(
            op.location,
            "the lifetime of a buffer is unknown beside branches between blocks; "
            "run morello-plan-memory while loops are scf.for",
        )


def _escapes(use: ir.OpOperand) -> bool:
    """Whether a use may let the memory outlive its block, or get it another name."""
    user = use.owner.operation
    if user.name == "memref.store":
        return int(use.operand_number) == 0
    return user.name in _ESCAPES or user.name.endswith(".yield") or _has_memrefs(user)


def _has_memrefs(op: ir.Operation) -> bool:
    return any(isinstance(result.type, _MEMREFS) for result in op.results)


def callee_of(call: ir.Operation) -> str:
    """The name of the function that is called."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _taken(use: ir.OpOperand) -> ir.Value | None:
    """The argument of a function that a call hands a buffer to; None of a function
    without a body, of which nothing is known."""
    module = use.owner.operation
    while module.name != "builtin.module":
        module = module.parent.operation
    for op in module.regions[0].blocks[0].operations:
        if (
            op.operation.name == "func.func"
            and ir.StringAttr(op.attributes["sym_name"]).value
            == callee_of(use.owner.operation)
            and len(op.regions[0].blocks)
        ):
            return op.regions[0].blocks[0].arguments[use.operand_number]
    return None


def _users(value: ir.Value, buffer: ir.Operation) -> Iterator[ir.Operation]:
    """Every op that uses the memory, through its aliases.

    Raises:
        PassFailure: at the use by which it escapes.
    """
    for use in value.uses:
        user = use.owner.operation
        yield user
        argument = _taken(use) if user.name == "func.call" else None
        if user.name in ALIASES and len(user.results):
            yield from _users(user.results[0], buffer)
        elif argument is not None and not _has_memrefs(user):
            for _ in _users(argument, buffer):  # refuses what lets it escape there
                pass
        elif _escapes(use):
            raise PassFailure(
                user.location,
                f"the buffer {ir.MemRefType(buffer.results[0].type)} escapes through "
                f"{user.name}; a buffer of the workspace lives within its block",
            )


@dataclasses.dataclass
class Buffers:
    """The buffers of a function, and the positions that each op covers, in order.

    Raises:
        PassFailure: when made, for an op that cannot be planned.
    """

    function: ir.Operation
    allocs: list[ir.Operation] = dataclasses.field(default_factory=list)
    allocas: list[ir.Operation] = dataclasses.field(default_factory=list)
    owners: dict[ir.Operation, ir.Operation | None] = dataclasses.field(
        default_factory=dict
    )
    """The parallel loop around each buffer."""
    spans: dict[ir.Operation, tuple[int, int]] = dataclasses.field(default_factory=dict)
    clock: int = 0

    def __post_init__(self) -> None:
        self.visit(self.function)

    def visit(self, op: ir.Operation) -> None:
        """Number an op and the ops inside of it.

        Raises:
            PassFailure: an op that cannot be planned.
        """
        first = self.clock
        self.clock += 1
        match op.name:
            case "memref.alloc":
                _refuse_branches(op)
                self.owners[op] = _owner(op)
                self.allocs.append(op)
            case "memref.alloca":
                self.check_alloca(op)
                self.owners[op] = _owner(op)
                self.allocas.append(op)
            case "memref.dealloc" | "memref.realloc":
                raise PassFailure(
                    op.location,
                    f"{op.name} is not for buffers of the workspace, which have a "
                    "place for the whole call; remove it",
                )
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    self.visit(inner.operation)
        self.spans[op] = first, self.clock - 1

    def check_alloca(self, op: ir.Operation) -> None:
        """Refuse an ``alloca`` whose size is known only where it stands.

        Raises:
            PassFailure: at the op.
        """
        if len(op.operands):
            raise PassFailure(
                op.location,
                f"{ir.MemRefType(op.results[0].type)} on the stack has a dynamic size "
                "and cannot move to the function's entry; give it a static shape",
            )

    def lifetime(self, alloc: ir.Operation) -> Lifetime:
        """From the ``alloc`` to the end of the last op of its block that uses it."""
        first, last = self.spans[alloc]
        for user in _users(alloc.results[0], alloc):
            inside = user
            while inside.block != alloc.block:
                inside = inside.parent.operation
            last = max(last, self.spans[inside][1])
        return Lifetime(_size(alloc), first, last)

"""`morello-plan-memory`: one place in one workspace for every buffer of a function.

Read `PlanMemory` for the contract, then `_Walk` (what is there, and how long each
buffer lives) and `placement.py` (who shares memory with whom). Nothing is changed
before everything has been checked.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import ClassVar

from morello.mlir import dialect, ir
from morello.passes.base import Pass, PassFailure
from morello.passes.placement import Lifetime, place

arith = dialect("arith")
memref = dialect("memref")

ATTRIBUTE = "morello.workspace_bytes"
"""On a function that has been planned: bytes of its last argument, 0 if it has none."""

_ALIASES = frozenset(
    {
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.transpose",
        "memref.view",
    }
)
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

_PARALLEL = frozenset({"omp.parallel", "scf.forall", "scf.parallel"})
"""Bodies that several threads run at once, each with buffers of its own."""


def _size(op: ir.Operation) -> int:
    """The bytes of an ``alloc``.

    Raises:
        PassFailure: they are not known, or not those of a gapless array.
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
    if not isinstance(element, (ir.IntegerType, ir.FloatType)) or element.width % 8:
        raise PassFailure(
            op.location,
            f"the workspace has no room for elements of type {element}; use integers "
            "or floats of whole bytes",
        )
    total = int(element.width) // 8
    for extent in kind.shape:
        total *= extent
    return total


def _refuse_parallel(op: ir.Operation) -> None:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name in _PARALLEL:
            raise PassFailure(
                op.location,
                f"a buffer inside {parent.name} would be shared by its threads; make "
                "the loop serial, or allocate outside of it",
            )
        parent = parent.parent.operation if parent.parent else None


def _refuse_branches(op: ir.Operation) -> None:
    if len(op.block.region.blocks) > 1:
        raise PassFailure(
            op.location,
            "a buffer beside branches between blocks has no lifetime that can be seen; "
            f"run {PlanMemory.name} while loops are scf.for",
        )


def _escapes(use: ir.OpOperand) -> bool:
    """Whether a use may let the memory outlive its block, or get it another name."""
    user = use.owner.operation
    if user.name == "memref.store":
        return int(use.operand_number) == 0
    return (
        user.name in _ESCAPES
        or user.name.endswith(".yield")
        or any(isinstance(result.type, _MEMREFS) for result in user.results)
    )


def _users(value: ir.Value, buffer: ir.Operation) -> Iterator[ir.Operation]:
    """Every op that uses the memory, through its aliases.

    Raises:
        PassFailure: at the use by which it escapes.
    """
    for use in value.uses:
        user = use.owner.operation
        yield user
        if user.name in _ALIASES:
            yield from _users(user.results[0], buffer)
        elif _escapes(use):
            raise PassFailure(
                user.location,
                f"the buffer {ir.MemRefType(buffer.results[0].type)} escapes through "
                f"{user.name}; a buffer of the workspace lives within its block",
            )


@dataclasses.dataclass
class _Walk:
    """What a function holds, with the positions that each op covers, in order."""

    function: ir.Operation
    allocs: list[ir.Operation] = dataclasses.field(default_factory=list)
    allocas: list[ir.Operation] = dataclasses.field(default_factory=list)
    spans: dict[ir.Operation, tuple[int, int]] = dataclasses.field(default_factory=dict)
    clock: int = 0

    def visit(self, op: ir.Operation) -> None:
        """Number an op and those inside of it.

        Raises:
            PassFailure: an op that cannot be planned.
        """
        first = self.clock
        self.clock += 1
        match op.name:
            case "memref.alloc":
                _refuse_parallel(op)
                _refuse_branches(op)
                self.allocs.append(op)
            case "memref.alloca":
                _refuse_parallel(op)
                self.check_alloca(op)
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


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Everything that will be done to a function."""

    function: ir.Operation
    allocas: tuple[ir.Operation, ...]
    allocs: tuple[ir.Operation, ...]
    offsets: tuple[int, ...]
    size: int

    def apply(self) -> None:
        """Move, append, replace, record."""
        entry = self.function.regions[0].blocks[0]
        with self.function.context, self.function.location:
            self._hoist(entry)
            if self.allocs:
                self._replace(self._argument(entry))
            size = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.size)
            self.function.attributes[ATTRIBUTE] = size

    def _hoist(self, entry: ir.Block) -> None:
        for alloca in reversed(self.allocas):
            first = entry.operations[0].operation
            if first != alloca:
                alloca.move_before(first)

    def _argument(self, entry: ir.Block) -> ir.Value:
        byte = ir.IntegerType.get_signless(8)
        kind = ir.MemRefType.get([self.size], byte)
        signature = self.function.attributes["function_type"].value
        signature = ir.FunctionType.get([*signature.inputs, kind], signature.results)
        self.function.attributes["function_type"] = ir.TypeAttr.get(signature)
        if "arg_attrs" in self.function.attributes:
            given = list(ir.ArrayAttr(self.function.attributes["arg_attrs"]))
            marked = ir.ArrayAttr.get([*given, ir.DictAttr.get({})])
            self.function.attributes["arg_attrs"] = marked
        return entry.add_argument(kind, self.function.location)

    def _replace(self, workspace: ir.Value) -> None:
        for alloc, offset in zip(self.allocs, self.offsets, strict=True):
            with ir.InsertionPoint(alloc), alloc.location:
                at = arith.ConstantOp(ir.IndexType.get(), offset)
                kind = alloc.results[0].type
                view = memref.ViewOp(kind, workspace, at, [])
            alloc.results[0].replace_all_uses_with(view.result)
            alloc.erase()


def _plan(function: ir.Operation) -> _Plan | None:
    """The plan of one function, or None where it has been planned before.

    Raises:
        PassFailure: what cannot be planned.
    """
    walk = _Walk(function)
    walk.visit(function)
    if ATTRIBUTE in function.attributes:
        if walk.allocs:
            raise PassFailure(
                walk.allocs[0].location,
                "an allocation in a function whose workspace has been planned; run "
                f"{PlanMemory.name} once, after everything that allocates",
            )
        return None
    lifetimes = [walk.lifetime(alloc) for alloc in walk.allocs]
    offsets, size = place(lifetimes)
    return _Plan(
        function, tuple(walk.allocas), tuple(walk.allocs), tuple(offsets), size
    )


def _refuse_calls(module: ir.Operation, plans: Iterable[_Plan]) -> None:
    """Refuse calls of functions that get one more argument.

    Raises:
        PassFailure: at the call.
    """
    grown = {p.function.attributes["sym_name"].value for p in plans if p.size}
    failures: list[PassFailure] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "func.call" or op.attributes["callee"].value not in grown:
            return ir.WalkResult.ADVANCE
        failures.append(
            PassFailure(
                op.location,
                f"the call of @{op.attributes['callee'].value} has no workspace to "
                "give it; inline the function first",
            )
        )
        return ir.WalkResult.INTERRUPT

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    if failures:
        raise failures[0]


@dataclasses.dataclass(frozen=True)
class PlanMemory(Pass):
    """Give every buffer of a function a place in one workspace argument.

    Before: ``memref.alloc`` of static, row-major shape and no ``memref.dealloc``;
    ``memref.alloca`` anywhere. After: each function that allocated has one more
    argument, ``memref<N x i8>``, and views into it, aligned to 64 bytes relative to
    its start, where buffers that are never needed together share memory; every
    ``alloca`` is at the function's entry; each function with a body has the attribute
    ``morello.workspace_bytes = N : i64``. Refuses: dynamic sizes, buffers that escape
    their block, deallocations, buffers inside parallel loops, calls of functions that
    would get an argument.
    """

    name: ClassVar[str] = "morello-plan-memory"

    def run(self, module: ir.Operation) -> None:
        """Plan every function with a body; then change them.

        Raises:
            PassFailure: at the op that cannot be planned.
        """
        functions = [
            op.operation
            for op in module.regions[0].blocks[0].operations
            if op.operation.name == "func.func" and len(op.regions[0].blocks)
        ]
        plans = [plan for plan in map(_plan, functions) if plan is not None]
        _refuse_calls(module, plans)
        for plan in plans:
            plan.apply()

"""`morello-plan-memory`: one place in one workspace for every buffer of a function.

Read `PlanMemory` for the contract, then `buffers.py` (the buffers and their
lifetimes) and `placement.py` (who shares memory with whom). Nothing is changed
before everything has been checked.
"""

import dataclasses
from typing import ClassVar

from morello.dialect.attributes import i64_attr
from morello.dialect.sizes import sizes_taken
from morello.mlir import all_ops, defined_functions, dialect, ir, replace_op
from morello.passes.base import Pass, PassFailure
from morello.passes.parts.buffers import Buffers, callee_of, iterations
from morello.passes.parts.placement import Lifetime, place

arith = dialect("arith")
func = dialect("func")
memref = dialect("memref")

ATTRIBUTE = "morello.workspace_bytes"
"""Attribute of a function that has been planned: bytes of its last argument, 0 if it
has none."""


@dataclasses.dataclass(frozen=True)
class _Slot:
    """Position of a buffer: ``offset``, plus ``stride`` for each iteration of the
    parallel loop that it belongs to."""

    alloc: ir.Operation
    offset: int
    loop: ir.Operation | None = None
    stride: int = 0

    def view(self, workspace: ir.Value) -> None:
        """Replace the ``alloc`` by a view of the workspace."""
        index = ir.IndexType.get()
        with ir.InsertionPoint(self.alloc), self.alloc.location:
            at = arith.ConstantOp(index, self.offset).result
            if self.loop is not None:
                iteration = self.loop.regions[0].blocks[0].arguments[0]
                stride = arith.ConstantOp(index, self.stride)
                at = arith.AddIOp(at, arith.MulIOp(iteration, stride)).result
            view = memref.ViewOp(self.alloc.results[0].type, workspace, at, [])
        replace_op(self.alloc, view.result)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Everything that will be done to a function."""

    function: ir.Operation
    allocas: tuple[tuple[ir.Operation, ir.Operation], ...]
    """Each with the op, function or parallel loop, to whose start it moves."""
    slots: tuple[_Slot, ...]
    size: int

    def apply(self) -> None:
        """Move, append, replace, record."""
        entry = self.function.regions[0].blocks[0]
        with self.function.context, self.function.location:
            self._hoist()
            if self.slots:
                workspace = self._argument(entry)
                for slot in self.slots:
                    slot.view(workspace)
            self.function.attributes[ATTRIBUTE] = i64_attr(self.size)

    def _hoist(self) -> None:
        for alloca, owner in reversed(self.allocas):
            first = owner.regions[0].blocks[0].operations[0].operation
            if first != alloca:
                alloca.move_before(first)

    def _argument(self, entry: ir.Block) -> ir.Value:
        byte = ir.IntegerType.get_signless(8)
        kind = ir.MemRefType.get([self.size], byte)
        signature = self.function.attributes["function_type"].value
        if "arg_attrs" in self.function.attributes:
            attributes = list(ir.ArrayAttr(self.function.attributes["arg_attrs"]))
            marked = ir.ArrayAttr.get([*attributes, ir.DictAttr.get({})])
            self.function.attributes["arg_attrs"] = marked
        workspace = entry.add_argument(kind, self.function.location)
        taken = sizes_taken(self.function)
        for _ in range(taken):  # what a call says comes last
            size = entry.arguments[len(entry.arguments) - 1 - taken]
            last = entry.add_argument(size.type, self.function.location)
            size.replace_all_uses_with(last)
            entry.erase_argument(size.arg_number)
        inputs = [argument.type for argument in entry.arguments]
        signature = ir.FunctionType.get(inputs, signature.results)
        self.function.attributes["function_type"] = ir.TypeAttr.get(signature)
        return entry.arguments[workspace.arg_number]


def _place_all(buffers: Buffers) -> tuple[list[_Slot], int]:
    """Place every buffer; returns the slots and the bytes of the workspace.

    The buffers within a parallel loop are placed first, for one iteration; then the
    loop counts as a buffer that holds the buffers of all its iterations.
    """
    shared = [a for a in buffers.allocs if buffers.owners[a] is None]
    loops = list(dict.fromkeys(o for a in buffers.allocs if (o := buffers.owners[a])))
    inner = []
    for loop in loops:
        # The bindings refuse to compare an operation with None.
        private = [
            a
            for a in buffers.allocs
            if (owner := buffers.owners[a]) is not None and owner == loop
        ]
        offsets, size = place([buffers.lifetime(a) for a in private])
        inner.append((loop, private, offsets, size))
    lifetimes = [buffers.lifetime(a) for a in shared]
    for loop, _, _, size in inner:
        lifetimes.append(Lifetime(size * iterations(loop), *buffers.spans[loop]))
    bases, total = place(lifetimes)
    slots = [_Slot(a, base) for a, base in zip(shared, bases, strict=False)]
    for (loop, private, offsets, size), base in zip(
        inner, bases[len(shared) :], strict=True
    ):
        slots += [
            _Slot(a, base + offset, loop, size)
            for a, offset in zip(private, offsets, strict=True)
        ]
    return slots, total


def _plan(function: ir.Operation) -> _Plan | None:
    """The plan of one function, or None where it has been planned before.

    Raises:
        PassFailure: what cannot be planned.
    """
    buffers = Buffers(function)
    if ATTRIBUTE in function.attributes:
        if buffers.allocs:
            raise PassFailure(
                buffers.allocs[0].location,
                "an allocation in a function whose workspace has been planned; run "
                f"{PlanMemory.name} once, after everything that allocates",
            )
        return None
    slots, size = _place_all(buffers)
    allocas = tuple((a, buffers.owners[a] or function) for a in buffers.allocas)
    return _Plan(function, allocas, tuple(slots), size)


def _callees_first(calls: dict[str, list[ir.Operation]]) -> list[str]:
    """Functions in an order in which each stands after those that it calls.

    Raises:
        PassFailure: at a call by which a function calls itself.
    """
    order: list[str] = []
    around: set[str] = set()

    def visit(name: str) -> None:
        around.add(name)
        for call in calls[name]:
            callee = callee_of(call)
            if callee in around:
                raise PassFailure(
                    call.location,
                    f"the call of @{callee} calls the function that it stands in, and "
                    "a workspace has one place for each buffer; write a loop",
                )
            if callee in calls and callee not in order:
                visit(callee)
        around.remove(name)
        order.append(name)

    for name in calls:
        if name not in order:
            visit(name)
    return order


def _give_workspace(call: ir.Operation, size: int, sized: int) -> None:
    """Give the function that is called a buffer as its last argument, or before the
    ``sized`` sizes that a call says."""
    with ir.InsertionPoint(call), call.location:
        kind = ir.MemRefType.get([size], ir.IntegerType.get_signless(8))
        buffer = memref.AllocOp(kind, [], []).result
        results = [result.type for result in call.results]
        callee = ir.FlatSymbolRefAttr(call.attributes["callee"])
        operands = list(call.operands)
        operands.insert(len(operands) - sized, buffer)
        new = func.CallOp(results, callee, operands)
    replace_op(call, *new.results)


def _refuse_calls(
    calls: dict[str, list[ir.Operation]], plans: dict[str, _Plan | None]
) -> None:
    """Refuse calls of functions that get one more argument, where the function around
    the call has been planned before.

    Args:
        calls: of each function.
        plans: of the same, each after those that it calls.

    Raises:
        PassFailure: at the call.
    """
    grown: set[str] = set()
    for name, plan in plans.items():
        longer = [call for call in calls[name] if callee_of(call) in grown]
        if plan is None and longer:
            raise PassFailure(
                longer[0].location,
                f"the call of @{callee_of(longer[0])} has no workspace to give it, for "
                f"the function around it has been planned; run {PlanMemory.name} once, "
                "on both",
            )
        if plan is not None and (plan.size or longer):
            grown.add(name)


def _plan_all(functions: dict[str, ir.Operation]) -> None:
    """Plan the functions of one module; then change them.

    Raises:
        PassFailure: at the op that cannot be planned.
    """
    calls = {
        name: all_ops(function, "func.call", outer_first=True)
        for name, function in functions.items()
    }
    order = _callees_first(calls)
    plans = {name: _plan(functions[name]) for name in order}
    _refuse_calls(calls, plans)
    sizes: dict[str, int] = {}
    for name in order:
        plan = plans[name]
        if plan is None:
            continue
        needy = [call for call in calls[name] if sizes.get(callee_of(call))]
        with functions[name].context:
            for call in needy:
                callee = callee_of(call)
                sized = sizes_taken(functions[callee])
                _give_workspace(call, sizes[callee], sized)
        if needy:
            plan = _plan(functions[name])
            assert plan is not None
        plan.apply()
        sizes[name] = plan.size


@dataclasses.dataclass(frozen=True)
class PlanMemory(Pass):
    """Give every buffer of a function a place in one workspace argument.

    Before: ``memref.alloc`` of static, row-major shape and no ``memref.dealloc``;
    ``memref.alloca`` anywhere. After: each function that allocated has one more
    argument, ``memref<N x i8>``, and views into it, aligned to 64 bytes relative to
    its start, where buffers that are never needed together share memory; every
    ``alloca`` is at the entry of the function, or of the parallel loop around it, each
    of whose iterations has its own part of the workspace; each function with a body has
    the attribute ``morello.workspace_bytes = N : i64``. A call gives the function that
    is called a part of the caller's workspace. Refuses: dynamic sizes, buffers that
    escape their block, deallocations, buffers inside parallel loops that do not run
    from 0 to a constant by 1, functions that call themselves.
    """

    name: ClassVar[str] = "morello-plan-memory"

    def run(self, module: ir.Operation) -> None:
        """Plan the functions with a body of each module, and change them.

        Raises:
            PassFailure: at the op that cannot be planned.
        """
        in_modules: dict[ir.Operation, dict[str, ir.Operation]] = {}
        for function in defined_functions(module):
            name = str(ir.StringAttr(function.attributes["sym_name"]).value)
            around = function.parent.operation
            in_modules.setdefault(around, {})[name] = function
        for functions in in_modules.values():
            _plan_all(functions)

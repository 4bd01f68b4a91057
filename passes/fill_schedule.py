"""Going on where a schedule stops: `fill_schedule`.

A schedule may leave Spec ops. It is run on a copy of the module in which every handle
marks what it holds; a Spec op that is left then bears the mark of the handle that it
can be reached by, and the actions of its program are appended where that handle is
defined, at the end of its block.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterator

from morello.dialect.build import spec_of
from morello.dialect.ops import spec_ops
from morello.dialect.transform import MorelloTransform
from morello.mlir import dialect, ir
from morello.passes.apply_schedule import entry_sequence, interpret, named_sequences
from morello.passes.base import PassFailure
from morello.passes.parts.schedule_builder import Hole, continue_schedule
from morello.search import Impl
from morello.spec import Spec

_ACTION = f"{MorelloTransform.DIALECT_NAMESPACE}."
_MARK = "morello.handle."


@dataclasses.dataclass(frozen=True)
class _Handle:
    """A handle that nothing takes further."""

    value: ir.Value
    block: ir.Block
    """Block where the handle is defined."""
    definer: ir.Operation | None
    """The op that gives it; None for an argument of the block."""

    @property
    def location(self) -> ir.Location:
        """Location of the op that defines or owns it."""
        op = self.block.owner if self.definer is None else self.definer
        return op.operation.location


def fill_schedule(module: ir.Operation, program: Callable[[ir.Operation], Impl]) -> int:
    """Append to the schedule of ``module`` the programs of the Specs that it leaves.

    Args:
        module: with a schedule.
        program: gives the program of a Spec op.

    Returns:
        how many handles were continued.

    Raises:
        PassFailure: there is no schedule; it fails; it leaves a Spec op that no handle
            reaches at its end, or several Specs in one handle.
    """
    with module.context, ir.Location.unknown():
        entry_sequence(module)
        copy = module.clone()
        left = _left(copy, list(_open_handles(copy)))
        handles = list(_open_handles(module))
        holes = []
        for index, ops in sorted(left.items()):
            handle = handles[index]
            _check_alike(handle, ops)
            holes.append(Hole(handle.value, handle.block, program(ops[0])))
        if holes:
            continue_schedule(module, holes)
    return len(holes)


def _left(copy: ir.Operation, handles: list[_Handle]) -> dict[int, list[ir.Operation]]:
    """The Spec ops that the schedule leaves, by the handle to go on from.

    Of several the last is taken: handles are in the order in which they are defined.

    Raises:
        PassFailure: the schedule fails, or no handle reaches an op.
    """
    transform = dialect("transform")
    for index, handle in enumerate(handles):
        point = (
            ir.InsertionPoint.at_block_begin(handle.block)
            if handle.definer is None
            else ir.InsertionPoint.after(handle.definer)
        )
        transform.AnnotateOp(handle.value, f"{_MARK}{index}", ip=point)
    interpret(copy, entry_sequence(copy))
    left = collections.defaultdict(list)
    for op in spec_ops(copy):
        marks = [name for name in op.attributes if name.startswith(_MARK)]
        if not marks:
            raise PassFailure(
                op.location,
                f"the schedule leaves {spec_of(op)} and no handle to go on from; keep "
                "a handle to it that no op consumes, in a sequence that may consume it",
            )
        left[max(int(mark.removeprefix(_MARK)) for mark in marks)].append(op)
    return left


def _check_alike(handle: _Handle, ops: list[ir.Operation]) -> None:
    """Refuse one handle to different Specs: one program cannot fit them.

    Raises:
        PassFailure: at the definition of the handle.
    """
    specs: dict[Spec, None] = dict.fromkeys(map(spec_of, ops))
    if len(specs) > 1:
        raise PassFailure(
            handle.location,
            f"one handle is left with {len(specs)} different Specs, which need "
            f"programs of their own: {'; '.join(map(str, specs))}; write a sequence "
            "for each, or the actions that all of them need",
        )


def _open_handles(module: ir.Operation) -> Iterator[_Handle]:
    """The handles of a schedule that nothing consumes, in the order of the text."""
    sequences = named_sequences(module)
    for sequence in sequences.values():
        for block in sequence.regions[0].blocks:
            consumed = _consumed_arguments(sequence)
            for index, value in enumerate(block.arguments):
                if index in consumed and _is_open(value, sequences):
                    yield _Handle(value, block, None)
            yield from _defined_in(block, sequences)


def _defined_in(
    block: ir.Block, sequences: dict[str, ir.Operation]
) -> Iterator[_Handle]:
    for view in block.operations:
        op = view.operation
        for value in op.results:
            if _is_open(value, sequences):
                yield _Handle(value, block, op)
        for region in op.regions:
            for inner in region.blocks:
                for value in inner.arguments:
                    if _is_open(value, sequences):
                        yield _Handle(value, inner, None)
                yield from _defined_in(inner, sequences)


def _is_open(value: ir.Value, sequences: dict[str, ir.Operation]) -> bool:
    """Whether a value is a handle that no further action consumes."""
    if not str(value.type).startswith(("!transform.any_op", "!transform.op<")):
        return False
    return not any(_takes(use, sequences) for use in value.uses)


def _takes(use: ir.OpOperand, sequences: dict[str, ir.Operation]) -> bool:
    """Whether an op takes a handle further: consumes it, or hands it out."""
    op = use.owner.operation
    if op.name == "transform.include":
        callee = sequences.get(ir.FlatSymbolRefAttr(op.attributes["target"]).value)
        return callee is None or use.operand_number in _consumed_arguments(callee)
    name = str(op.name)
    return name.startswith(_ACTION) or name == "transform.yield"


def _consumed_arguments(sequence: ir.Operation) -> set[int]:
    """The numbers of the arguments that a named sequence may consume."""
    if "arg_attrs" not in sequence.attributes:
        return set()
    rows = ir.ArrayAttr(sequence.attributes["arg_attrs"])
    return {i for i, row in enumerate(rows) if "transform.consumed" in ir.DictAttr(row)}

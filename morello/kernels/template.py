"""The kernel template: applicability, meaning, operation counts and code emission.

A kernel implements the Spec that it is selected for, on tiles that are in L1 or in
registers; its meaning is the meaning of that Spec's kind, and tests hold it to that.
Applicability and counts are written over frames (`morello.spec.frame`): they must work
on integers and, elementwise, on integer arrays. Emission sees one Spec and writes
straight vector code through an `Emitter`; nothing here imports MLIR.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from morello.cost.counts import OpCounts
from morello.machine.isa import Isa
from morello.spec import (
    VRF,
    Dtype,
    Form,
    Kind,
    Layout,
    Memory,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec.frame import Condition, Frame

if TYPE_CHECKING:
    from morello.kernels.emitter import Buffer, Emitter


@dataclasses.dataclass(frozen=True)
class Kernel(ABC):
    """A leaf of a program."""

    name: str
    """The name in schedules and in the IR."""
    isa: Isa
    """The instruction set that its code is written for."""
    summary: str
    """A sentence on what it computes, for the reference."""
    of_kind: ClassVar[type[Any]] = Kind
    """The class of the kinds that it may accept. Of another it also asks for no form,
    and for no room in a cache."""
    needs_denormals: ClassVar[bool] = False
    """Whether it is right only where f32 adds denormal numbers as IEEE 754 has it:
    functions that hold it set the control register so while they run."""

    @abstractmethod
    def accepts(self, key: SpecKey) -> bool:
        """Whether kind, dtypes, levels and layouts are its own, whatever the sizes."""

    @abstractmethod
    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Conditions on sizes and limits for a key that the kernel accepts."""

    @abstractmethod
    def op_counts(self, frame: Frame) -> OpCounts:
        """Operation counts of one run, which a cost model prices. They may be any
        functions of sizes."""

    @abstractmethod
    def emit(
        self, emitter: "Emitter", spec: Spec, operands: Sequence["Buffer"]
    ) -> None:
        """Write its code at the emitter's insertion point.

        ``operands`` are the buffers of the Spec's operands, in their order. The Spec is
        one that the kernel accepts and whose conditions hold.
        """

    def takes_any(self, spec: Spec) -> bool:
        """Whether its code takes any size of a Spec's range, by `Emitter.size`."""
        return False

    def varying_counts(self, frame: Frame, varying: frozenset[int]) -> OpCounts:
        """The operations of one run beside `op_counts`, where a call says the sizes of
        some dimensions."""
        return OpCounts((), kernels=0)

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Dtypes of its operands that it is made for, beside f32 or s32 alone: tests of
        all kernels try them."""
        return ()

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """The caches of which its conditions ask what is left.

        On this key, whose operands may be in any form and at any level, or on one that
        moves make of it: the search does not keep apart Specs that differ in what is
        left of other caches, once nothing can move there.
        """
        return frozenset()

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """The forms in which it asks for an operand, for the search to try.

        ``key`` is any key at all: of another kind the answer is (). A form is a layout
        and a dtype, the operand's own or a wider one; the search brings the operand to
        it by a move, where a Spec with it means the same (`may_widen`). The other
        operands may be in any form still: answer () where one is in a dtype or packed
        layout that the kernel neither takes nor asks for, since every form that is
        answered makes tables. `wanted_forms` says the usual thing. Of where an operand
        is, the answer may depend on no more than registers, a cache or memory.
        """
        return ()

    def forms_beforehand(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """More of them for an operand that is packed once, before the kernel runs.

        No program tries to bring an operand to these: they would not be worth it.
        """
        return ()

    def layouts(self, key: SpecKey, operand: int) -> tuple[Layout, ...]:
        """The packed layouts among `forms` that keep the operand's dtype."""
        stored = key.tensors[operand].dtype
        return tuple(
            form.layout
            for form in self.forms(key, operand)
            if form.dtype is stored and form.layout.is_packed
        )

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """The operands that it needs in registers; none for kinds that it does not
        take."""
        return ()

    @property
    def register_file(self) -> Memory:
        """The register file that it needs `register_operands` in."""
        return VRF

    def register_dtype(self, key: SpecKey, operand: int) -> Dtype:
        """The dtype that a register operand must have: its own, or a wider one."""
        return key.tensors[operand].dtype


def may_become(tensor: TensorSpec, forms: tuple[Form, ...]) -> bool:
    """Whether an operand is in one of some forms, or may still be brought to one.

    What is packed stays as it is, as far as forms are concerned that others ask for.
    """
    if Form(tensor.dtype, tensor.layout) in forms:
        return True
    return not tensor.layout.is_packed and any(
        form.dtype is tensor.dtype or tensor.dtype.widens_to(form.dtype)
        for form in forms
    )


def wanted_forms(
    key: SpecKey,
    operand: int,
    forms: dict[int, tuple[Form, ...]],
    takes: Callable[[int, TensorSpec], bool] = lambda index, tensor: False,
) -> tuple[Form, ...]:
    """Forms that a kernel asks for an operand in, given the forms of several operands
    that it accepts.

    Empty if another of these operands is in none of its forms, cannot be moved into
    one, and is not accepted as it is (``takes``).
    """
    others = (i for i in forms if i != operand)
    if operand in forms and all(
        may_become(key.tensors[i], forms[i]) or takes(i, key.tensors[i]) for i in others
    ):
        return forms[operand]
    return ()

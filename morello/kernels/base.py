"""What a kernel is: where it applies, what it costs, and how it is emitted.

A kernel implements the Spec that it is selected for, on tiles that are in L1 or in
registers; its meaning is the meaning of that Spec's kind, and tests hold it to that.
The applicability and the cost are written over frames (`morello.spec.frame`): they must
work on integers and, elementwise, on integer arrays. Emission sees one Spec and writes
straight vector code through an `Emitter`; nothing here imports MLIR.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from morello.spec import Layout, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.targets.coefficients import Coefficients

if TYPE_CHECKING:
    from morello.kernels.emitter import Buffer, Emitter


@dataclasses.dataclass(frozen=True)
class Kernel(ABC):
    """A leaf of a program."""

    name: ClassVar[str]
    """Its name in schedules and in the IR."""

    @abstractmethod
    def accepts(self, key: SpecKey) -> bool:
        """Whether kind, dtypes, levels and layouts are its own, whatever the sizes."""

    @abstractmethod
    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """What sizes and limits must satisfy, given that it accepts the key."""

    @abstractmethod
    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """Millicycles of one run; any function of sizes."""

    @abstractmethod
    def emit(
        self, emitter: "Emitter", spec: Spec, operands: Sequence["Buffer"]
    ) -> None:
        """Write its code at the emitter's insertion point.

        ``operands`` are the buffers of the Spec's operands, in their order. The Spec is
        one that the kernel accepts and whose conditions hold.
        """

    def layouts(self, key: SpecKey, operand: int) -> tuple[Layout, ...]:
        """Packed layouts of an operand that it can read, for the search to try.

        ``key`` is any key of the kernel's kind and dtypes.
        """
        return ()

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """The operands that it wants in registers."""
        return ()

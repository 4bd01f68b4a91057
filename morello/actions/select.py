"""Select: a kernel implements the Spec; nothing is left."""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes, Expansion
from morello.cost.of_target import kernel_cost
from morello.kernels import KERNELS, Kernel, kernels_for
from morello.machine import Target
from morello.spec import Kind, Memory, Spec, SpecKey
from morello.spec.frame import Frame, Ints


@dataclasses.dataclass(frozen=True, order=True)
class Select(Action):
    """The kernel called ``kernel`` is the program."""

    name: ClassVar[str] = "select"
    turn: ClassVar[int] = 0
    ends: ClassVar[bool] = True
    takes_ranges: ClassVar[bool] = True
    kernel: str
    """The name of a kernel of the target."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """The kernel's conditions and cost; no holes."""
        is_there = self.kernel in target.kernels
        if not is_there or not KERNELS[self.kernel].accepts(frame.key):
            legal = _kernels(frame.key, target.plain)
            reason = (
                f"kernel '{self.kernel}' does not implement {frame.key}; "
                f"those that do: {', '.join(legal) or 'none'}"
            )
            return Expansion.refused(reason)
        kernel = KERNELS[self.kernel]
        cost = kernel_cost(self.kernel, frame, kernel.op_counts(frame), target)
        return Expansion(kernel.conditions(frame), cost)

    def child_keys(self, key: SpecKey, target: Target) -> tuple[SpecKey, ...]:
        """None: nothing is left."""
        return ()

    def passes(self, spec: Spec) -> bool:
        """Whether the kernel's code takes any size of the range."""
        kernel = KERNELS.get(self.kernel)
        return kernel is not None and kernel.takes_any(spec)

    def varying_cost(
        self, frame: Frame, varying: frozenset[int], target: Target
    ) -> Ints:
        """The cost of the kernel's code for any size, beside that of a settled one."""
        counts = KERNELS[self.kernel].varying_counts(frame, varying)
        return kernel_cost(self.kernel, frame, counts, target)

    def feature(self, key: SpecKey) -> str:
        """Name of the class of programs that use it: the kernel's name."""
        return self.kernel

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Every kernel of the target that accepts the key."""
        for name in _kernels(key, target.plain):
            yield cls(name)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches in which kernels need free lines."""
        kernels = _needing(type(key.kind), target.kernels)
        return frozenset().union(*(kernel.levels_needed(key) for kernel in kernels))


@lru_cache(maxsize=1024)
def _needing(kind: type[Kind], kernels: tuple[str, ...]) -> tuple[Kernel, ...]:
    """The few kernels for a class of kinds that may need room in a cache."""
    return tuple(
        kernel
        for kernel in kernels_for(kind, kernels)
        if type(kernel).levels_needed is not Kernel.levels_needed
    )


@lru_cache(maxsize=65536)
def _kernels(key: SpecKey, target: Target) -> tuple[str, ...]:
    kernels = kernels_for(type(key.kind), target.kernels)
    return tuple([kernel.name for kernel in kernels if kernel.accepts(key)])

"""One use of a kernel: its inputs, its arguments, and the judgement of its outputs."""

import dataclasses
import functools
import os
from collections.abc import Sequence

import numpy as np

from morello.compiler.kernel import Kernel
from morello.compiler.tuning.verify import Definition, Verdict, judge, rounds
from morello.errors import MorelloError
from morello.spec import Array, Spec
from morello.spec.checking import is_exact

_POISON = 0xA5
"""Bytes of an output before a call, so that a missing write shows."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """Inputs for a Spec, in logical order, and whether nothing is rounded on them."""

    spec: Spec
    inputs: tuple[Array, ...]
    exact: bool

    @classmethod
    def make(cls, spec: Spec, seed: int, arrays: dict[int, Array]) -> "Trial":
        """Inputs as given, by the number of the operand, and random for the others.

        Raises:
            MorelloError: the machine has not the memory.
        """
        _check_memory(spec)
        drawn = iter(spec.random(np.random.default_rng(seed)))
        inputs = tuple(
            arrays.get(i, array).reshape(spec.shape(i))
            for i, array in zip(_read_operands(spec), drawn, strict=True)
        )
        may_round = rounds(spec) and not is_exact(spec.kind, spec.sizes)
        return cls(spec, inputs, not arrays and not may_round)

    def settled(self, spec: Spec) -> "Trial":
        """Copy the trial for a Spec whose operands may have other layouts."""
        return dataclasses.replace(self, spec=spec)

    def arguments(self) -> list[Array]:
        """New arrays for every operand, laid out as the kernel takes them."""
        places = _read_operands(self.spec)
        filled = dict(zip(places, self.inputs, strict=True))
        return [
            self.spec.to_physical(i, filled[i])
            if i in filled
            else self.spec.argument(i, _POISON)
            for i in range(len(self.spec.tensors))
        ]

    def judge(self, arguments: Sequence[Array]) -> Verdict:
        """Compare the outputs, as the kernel has left them, with the definition."""
        return judge(self.spec, self.inputs, self.outputs(arguments), self.exact)

    @functools.cached_property
    def definition(self) -> Definition:
        """Definition that the outputs must meet; it is computed at the first
        use."""
        return Definition(self.spec, self.inputs, self.exact)

    def is_right(self, arguments: Sequence[Array]) -> bool:
        """Whether the outputs of a kernel are right: `judge` without its details."""
        outputs = self.outputs(arguments)
        return self.definition.holds(outputs) or self.judge(arguments).holds

    def agree(self, one: Sequence[Array], other: Sequence[Array]) -> bool:
        """Whether two calls left outputs of the same bits, padding left out."""
        pairs = zip(self.outputs(one), self.outputs(other), strict=True)
        return all(a.tobytes() == b.tobytes() for a, b in pairs)

    def outputs(self, arguments: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs among the arguments of a call, in logical order."""
        written = self.spec.kind.written
        return tuple(self.spec.to_logical(i, arguments[i]) for i in written)

    def run(self, kernel: Kernel) -> list[Array]:
        """Call the kernel on new arguments; they, as the kernel leaves them."""
        arguments = self.arguments()
        kernel(*arguments)
        return arguments


def _read_operands(spec: Spec) -> list[int]:
    return [i for i, operand in enumerate(spec.kind.operands) if operand.is_read]


def _check_memory(spec: Spec) -> None:
    """Refuse operands, and copies of the definition, that the machine cannot hold."""
    need = 0
    for i, tensor in enumerate(spec.tensors):
        physical = spec.span(i)
        need += physical * (2 * tensor.dtype.itemsize + (8 if spec.flops else 0))
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if need > have:
        raise MorelloError(
            f"running and checking the Spec takes {need / 2**30:.1f} GiB of memory, "
            f"and this machine has {have / 2**30:.1f} GiB",
            "give smaller sizes; 'morello emit' needs no arrays",
        )

"""One use of a kernel: its inputs, its arguments, and the judgement of its output."""

import dataclasses
import os

import numpy as np

from morello.compiler.kernel import Kernel
from morello.errors import MorelloError
from morello.spec import Array, Spec
from morello.spec.kind import EXACT_BOUND
from morello.tools.verify import UNIT_ROUNDOFF, Verdict, judge, rounds

_POISON = 0xA5
"""What the bytes of an output are before a call, so that a missing write shows."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """Inputs for a Spec, in logical order, and whether nothing is rounded on them."""

    spec: Spec
    inputs: tuple[Array, ...]
    exact: bool

    @classmethod
    def make(cls, spec: Spec, seed: int, given: dict[int, Array]) -> "Trial":
        """Inputs as given, by the number of the operand, and random for the others.

        Raises:
            MorelloError: the machine has not the memory.
        """
        _check_memory(spec)
        drawn = iter(spec.random(np.random.default_rng(seed)))
        inputs = tuple(
            given.get(i, array).reshape(spec.shape(i))
            for i, array in zip(_read_operands(spec), drawn, strict=True)
        )
        return cls(spec, inputs, not given and not _may_round(spec))

    def settled(self, spec: Spec) -> "Trial":
        """The same trial of a Spec whose operands may have other layouts."""
        return dataclasses.replace(self, spec=spec)

    def arguments(self) -> list[Array]:
        """New arrays for every operand, laid out as the kernel takes them."""
        places = _read_operands(self.spec)
        filled = dict(zip(places, self.inputs, strict=True))
        return [
            self.spec.to_physical(i, filled[i]) if i in filled else _poisoned(self.spec)
            for i in range(len(self.spec.tensors))
        ]

    def judge(self, output: Array) -> Verdict:
        """Compare an output, as the kernel has left it, with the definition."""
        return judge(self.spec, self.inputs, self.logical(output), self.exact)

    def agree(self, one: Array, other: Array) -> bool:
        """Whether two outputs have the same bits, padding left out."""
        return self.logical(one).tobytes() == self.logical(other).tobytes()

    def logical(self, output: Array) -> Array:
        """An output of the kernel in logical order."""
        return self.spec.to_logical(len(self.spec.tensors) - 1, output)

    def run(self, kernel: Kernel) -> Array:
        """Call the kernel on new arguments; the output as the kernel leaves it."""
        arguments = self.arguments()
        kernel(*arguments)
        return arguments[-1]


def _read_operands(spec: Spec) -> list[int]:
    return [i for i, operand in enumerate(spec.kind.operands) if operand.is_read]


def _poisoned(spec: Spec) -> Array:
    out = np.empty(spec.physical_shape(len(spec.tensors) - 1), spec.dtypes[-1].numpy)
    out.view(np.uint8).fill(_POISON)
    return out


def _may_round(spec: Spec) -> bool:
    """Whether sums of random inputs are too long for f32 to hold them exactly."""
    return rounds(spec) and (spec.sizes[2] + 1) * EXACT_BOUND**2 > 1 / UNIT_ROUNDOFF


def _check_memory(spec: Spec) -> None:
    """Refuse what the machine cannot hold: the operands, and the definition's own."""
    need = 0
    for i, tensor in enumerate(spec.tensors):
        physical = int(np.prod([float(e) for e in spec.physical_shape(i)]))
        need += physical * (2 * tensor.dtype.itemsize + (8 if spec.flops else 0))
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if need > have:
        raise MorelloError(
            f"running and checking the Spec takes {need / 2**30:.1f} GiB of memory, "
            f"and this machine has {have / 2**30:.1f} GiB",
            "give smaller sizes; 'morello emit' needs no arrays",
        )

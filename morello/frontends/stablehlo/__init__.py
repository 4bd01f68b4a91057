"""Ops of StableHLO that have no counterpart in linalg, as loops and selections.

`with_loops` is the entry point, before the conversion to linalg: `choices.py` computes
all branches of a choice; `scattering.py` and `sorting.py` write loops, with the bodies
that `scalar_body.py` makes of regions. `repeated` follows the conversion: it makes
loops of ``stablehlo.while``. `scattered_of_torch` is for programs of linalg in which
torch-mlir has left scatters.
"""

from morello.frontends.stablehlo.choices import selected
from morello.frontends.stablehlo.repeating import repeated
from morello.frontends.stablehlo.scattering import (
    scattered,
    scattered_of_torch,
)
from morello.frontends.stablehlo.sorting import ordered
from morello.mlir import ir

__all__ = ["repeated", "scattered_of_torch", "with_loops"]


def with_loops(module: ir.Operation, fallback: bool) -> None:
    """Write choices and scatters of a module as what linalg has, in place.

    Args:
        fallback: sorts, too, which take more than linear time.
    """
    selected(module)
    scattered(module)
    if fallback:
        ordered(module)

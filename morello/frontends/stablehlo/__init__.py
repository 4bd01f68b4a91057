"""Ops of StableHLO that have no counterpart in linalg, as loops and selections.

`with_loops` is the entry point, before the conversion to linalg: `choices.py` computes
all branches of a choice; `extremes.py` takes reductions of pairs apart;
`scattering.py`, `window_choices.py` and `sorting.py` write loops, with the bodies that
`scalar_body.py` makes of regions. `repeated` follows the conversion: it makes loops of
``stablehlo.while``. `with_loops_of_torch` is for programs of linalg in which torch-mlir
has left scatters and sorts.
"""

from morello.frontends.stablehlo.choices import selected
from morello.frontends.stablehlo.extremes import placed
from morello.frontends.stablehlo.repeating import repeated
from morello.frontends.stablehlo.scattering import scattered, scattered_of_torch
from morello.frontends.stablehlo.sorting import ordered, ordered_of_torch
from morello.frontends.stablehlo.window_choices import scattered_to_windows
from morello.mlir import ir

__all__ = ["repeated", "with_loops", "with_loops_of_torch"]


def with_loops(module: ir.Operation) -> None:
    """Write choices, scatters and sorts of a module as what linalg has, in place."""
    selected(module)
    placed(module)
    scattered(module)
    scattered_to_windows(module)
    ordered(module)


def with_loops_of_torch(module: ir.Operation) -> None:
    """Write scatters and sorts of torch-mlir as what linalg has, in place."""
    scattered_of_torch(module)
    ordered_of_torch(module)

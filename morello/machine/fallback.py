"""Prices where a target's own are stale: those that the generic target measured.

A price that was measured with another kernel is not known. Too high, it costs a kernel
that might have been chosen; too low, it is what a search looks for. So of a stale
kernel the greater of both prices counts: it is chosen where it is worth it by either,
else the choice falls back to kernels that were measured as they are. Where the terms of
the cost model have changed, no number of the file means what it did: all are the
generic target's, so that its choices are. What the generic target has not measured
either is priced by the file.
"""

import dataclasses
import functools

from morello.machine.costs import Coefficients, OpCosts
from morello.machine.target import Target
from morello.machine.text import TARGETS

_GENERIC = {
    "avx2": "avx2",
    "avx2-vnni": "avx2",
    "avx512": "avx512",
    "avx512-vnni-bf16": "avx512",
    "avx512-amx": "avx512",
}
"""By instruction set, the target for any CPU that has it: its costs stand in."""


def fallback(target: Target, price: str) -> Target | None:
    """The target with the generic target's costs; None if its own price is current, or
    the generic one is stale, too.

    Args:
        price: the name of a kernel, or `COST_MODEL`.
    """
    if price not in target.stale:
        return None
    generic = TARGETS[_GENERIC[target.isa.name]]
    if price in generic.stale:
        return None
    return _with_costs_of(target, generic)


def second_costs(target: Target) -> tuple[Coefficients, OpCosts, tuple[str, ...]]:
    """The costs that stand in, and which of them are stale: with the target they
    determine all prices."""
    generic = TARGETS[_GENERIC[target.isa.name]]
    return generic.coefficients, generic.ops, generic.stale


@functools.lru_cache(maxsize=1024)
def _with_costs_of(target: Target, generic: Target) -> Target:
    """A target with another's costs, but for instructions that not all sets have."""
    vector_costs = {
        field.name: getattr(target.ops, field.name)
        for field in dataclasses.fields(OpCosts)
        if field.default is not dataclasses.MISSING
    }
    return dataclasses.replace(
        target,
        coefficients=generic.coefficients,
        ops=dataclasses.replace(generic.ops, **vector_costs),
        stale=(),
    )

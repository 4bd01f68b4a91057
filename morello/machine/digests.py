"""Digests of what has a price: a file of costs that was measured with others is stale.

A calibration fits costs to kernels as they are and to the terms of the cost model as
they are. The file ``coefficients/digests.tsv`` has a row for each: a kernel's is a
checksum of its code and of what it counts on a list of Specs, that of `COST_MODEL` one
of what moves, loops and phases of kernels cost at fixed prices. A test holds the file
to the code. A target file names those that it was measured with; reading both and
comparing takes microseconds.
"""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

FILE = Path(__file__).parent / "coefficients" / "digests.tsv"

COST_MODEL = "cost_model"
"""The row of all prices but those of kernels, beside which no kernel is called so."""


@functools.cache
def digests() -> Mapping[str, str]:
    """The digest of each price, by its name."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return {row[0]: row[1] for row in rows}


def digests_of(kernels: Iterable[str]) -> dict[str, str]:
    """The record of a calibration of some kernels that is made now."""
    now = digests()
    return {name: now[name] for name in (COST_MODEL, *kernels)}


def stale(measured: Mapping[str, str] | None) -> tuple[str, ...]:
    """The names of prices that were measured with something else than what there is.

    Args:
        measured: digests of a file; none are stale in one that a person wrote (None).
    """
    if measured is None:
        return ()
    return tuple(
        name for name, digest in digests().items() if measured.get(name) != digest
    )

"""Reductions of arrays of any rank: ``mean:2x3x4``, ``sum:2x3x4:f32:axis=0``."""

import string

from morello.errors import SpecError
from morello.spec.graphs.names import Named, Options, named

REDUCTIONS = ("sum", "max", "min", "mean")
"""Names that take any number of sizes, and the option ``axis``."""


def of_any_rank(label: str, sizes: tuple[int, ...], options: Options) -> Named:
    """The graph of a reduction along some axes, the last one if none is given.

    Where no axis is left the input and the output have one of size 1 before all.

    Raises:
        SpecError: an axis that there is not.
    """
    given = options.pop("axis", "-1")
    axes = _axes(given, len(sizes))
    letters = string.ascii_lowercase[: len(sizes)]
    kept = "".join(c for i, c in enumerate(letters) if i not in axes)
    by_name = dict(zip(letters, sizes, strict=True))
    if not kept:
        kept, letters = "z", "z" + letters
        by_name["z"] = 1
    over, out = ",".join(letters), ",".join(kept)
    if label == "mean":
        share = 1.0
        for axis in axes:
            share /= sizes[axis]
        return named(f"s[{out}]=sum(x[{over}]);y[{out}]=s*{share!r}", by_name)
    return named(f"y[{out}]={label}(x[{over}])", by_name)


def _axes(text: str, rank: int) -> set[int]:
    if text == "all":
        return set(range(rank))
    try:
        axes = [int(part) for part in text.split(",")]
    except ValueError:
        axes = [rank]
    if any(not -rank <= axis < rank for axis in axes):
        raise SpecError(
            f"axis={text} of an array of {rank} axes",
            f"write numbers from {-rank} to {rank - 1}, joined by commas, or axis=all",
        )
    return {axis % rank for axis in axes}

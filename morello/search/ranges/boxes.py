"""Boxes of pairs of sizes, each with a program, by what they cost together.

Boxes come of cuts: one parts all pairs into two boxes, another each of these, and so
on. Of all such cuts those are chosen for which the regrets of all pairs and the price
of all kernels are the least.
"""

import dataclasses
import itertools
import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

MOST_BOXES = 1 << 16
"""Boxes that are looked at, of which some share pairs."""

Floats = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

Places = tuple[tuple[int, int], ...]
"""For each range the first index into its list of sizes, and the end."""

_Part = tuple[tuple[int, int], tuple[int, int]]
"""Along each range the index of the first border, and the end."""


class Boxed(NamedTuple):
    """A box of pairs, and the number of its program; None for the best program of its
    one pair."""

    places: Places
    program: int | None


@dataclasses.dataclass(frozen=True)
class Boxes:
    """Costs of boxes of pairs.

    Args:
        regrets: of each program at each pair; infinite where it does not apply, or may
            not be chosen.
        kernels: for each program where each of its kernels runs.
        alone: the kernels of the best program of one pair.
    """

    regrets: Floats
    kernels: list[list[Bools]]
    alone: float

    @cached_property
    def _borders(self) -> tuple[Any, Any]:
        """Along each range the places where a box may begin or end: everywhere unless
        these are too many, first along the range with fewer; else where most pairs have
        another best program than those before."""
        grid = self.regrets.shape[1:]
        best = self.regrets.argmin(0)
        chosen = [np.array([0, count]) for count in grid]
        for axis in np.argsort(grid):
            changes = np.moveaxis(np.diff(best, axis=axis) != 0, axis, 0)
            votes = changes.sum(1)
            other = len(chosen[1 - axis])
            boxes = MOST_BOXES // (other * (other - 1) // 2)
            count = (1 + math.isqrt(1 + 8 * boxes)) // 2
            inner = 1 + np.argsort(-votes, kind="stable")[: max(count - 2, 0)]
            chosen[axis] = np.array([0, *sorted(inner), grid[axis]])
        return chosen[0], chosen[1]

    def _totals(self, grid: Any, part: _Part) -> Floats:
        """The sum of what pairs have, over each box of a part."""
        sums = np.zeros([n + 1 for n in grid.shape])
        sums[1:, 1:] = grid.cumsum(0).cumsum(1)
        pairs = zip(self._borders, part, strict=True)
        sums = sums[np.ix_(*(borders[start:end] for borders, (start, end) in pairs))]
        high = sums[None, :, None, :] - sums[:, None, None, :]
        low = sums[None, :, :, None] - sums[:, None, :, None]
        totals: Floats = high - low
        return totals

    def _reach(self, is_finite: Bools) -> _Part:
        """The borders around all pairs that a program takes."""
        part = []
        for axis, borders in enumerate(self._borders):
            there = np.flatnonzero(is_finite.any(1 - axis))
            start = int(np.searchsorted(borders, there[0]))
            end = int(np.searchsorted(borders, there[-1] + 1, "right"))
            part.append((start, max(start, end)))
        return part[0], part[1]

    @cached_property
    def _programs(self) -> list[tuple[_Part, Any, Any]]:
        """For each program the borders around the pairs that it takes, and its regret
        and its kernels in each box of these."""
        programs: list[tuple[_Part, Any, Any]] = []
        for regrets, kernels in zip(self.regrets, self.kernels, strict=True):
            is_finite = np.isfinite(regrets)
            if not is_finite.any():
                none = np.zeros((0, 0, 0, 0))
                programs.append((((0, 0), (0, 0)), none, none))
                continue
            part = self._reach(is_finite)
            total = self._totals(np.where(is_finite, regrets, 0.0), part)
            total[self._totals(~is_finite, part) > 0] = np.inf
            count = np.zeros(total.shape)
            for runs in kernels:
                count += self._totals(runs, part) > 0
            programs.append((part, total, count))
        return programs

    @cached_property
    def _alone(self) -> Bools:
        """The boxes that contain a single pair of sizes."""
        rows, columns = map(np.diff, self._borders)
        one: Bools = np.zeros([len(b) for b in self._borders for _ in range(2)], bool)
        for row in np.flatnonzero(rows == 1):
            places = np.flatnonzero(columns == 1)
            one[row, row + 1, places, places + 1] = True
        return one

    def _whole(self, price: float, comparison: float) -> tuple[Floats, Any]:
        """The least cost of a box with one program, and which."""
        least = np.where(self._alone, price * self.alone + comparison, np.inf)
        which = np.full(least.shape, -1)
        for number, (part, regret, kernels) in enumerate(self._programs):
            rows, columns = itertools.starmap(slice, part)
            here = rows, rows, columns, columns
            cost = regret + price * kernels + comparison
            which[here][cost < least[here]] = number
            least[here] = np.minimum(least[here], cost)
        return least, which

    def chosen(self, price: float, comparison: float) -> list[Boxed]:
        """The boxes that cost the least together.

        Args:
            price: the regret that a kernel has to save.
            comparison: the regret that a box has to save: calls take longer to find
                theirs among more.
        """
        whole, which = self._whole(price, comparison)
        least = whole.copy()
        rows, columns = (len(borders) - 1 for borders in self._borders)
        for height in range(1, rows + 1):
            for width in range(1, columns + 1):
                if height + width > 2:
                    _cut(least, height, width)
        boxes: list[Boxed] = []
        stack = [(0, rows, 0, columns)]
        while stack:
            box = stack.pop()
            if whole[box] <= least[box]:
                ends = [
                    b[[s, e]]
                    for b, s, e in zip(self._borders, box[::2], box[1::2], strict=True)
                ]
                places = tuple((int(s), int(e)) for s, e in ends)
                number = int(which[box])
                boxes.append(Boxed(places, number if number >= 0 else None))
            else:
                stack += _halves(least, box)
        return sorted(boxes, key=lambda one: one.places)


def _cut(least: Floats, height: int, width: int) -> None:
    """Dynamic programming step: the best way to cut each box of one shape in two."""
    i = np.arange(least.shape[0] - height)[:, None, None]
    k = np.arange(least.shape[2] - width)[None, :, None]
    r, c = np.arange(1, height), np.arange(1, width)
    end, stop = i + height, k + width
    across = least[i, i + r, k, stop] + least[i + r, end, k, stop]
    along = least[i, end, k, k + c] + least[i, end, k + c, stop]
    both = np.concatenate([across, along], -1).min(-1)
    here = i[..., 0], end[..., 0], k[..., 0], stop[..., 0]
    least[here] = np.minimum(least[here], both)


def _halves(
    least: Floats, box: tuple[int, int, int, int]
) -> list[tuple[int, int, int, int]]:
    """The two parts of a box that cost the least."""
    start, end, first, last = box
    cuts = [
        [(start, at, first, last), (at, end, first, last)]
        for at in range(start + 1, end)
    ]
    cuts += [
        [(start, end, first, at), (start, end, at, last)]
        for at in range(first + 1, last)
    ]
    return min(cuts, key=lambda parts: sum(least[one] for one in parts))

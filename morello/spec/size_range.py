"""The sizes that a dimension may have where each call says which.

In text ``1..512``, or ``..512``; ``16..512/16`` goes in steps of 16. Dimensions that
have one size are tied by a name: ``s=1..512xsx64``. ``1..`` has no greatest size.
"""

import dataclasses
import re

from morello.errors import SpecError

_RANGE = re.compile(
    r"(?:([a-wyz]{1,16})=)?(\d{1,12})?\.\.(?:(\d{1,12})(\+)?)?(?:/(\d{1,12}))?",
    re.ASCII,
)
_NAME = re.compile(r"[a-wyz]{1,16}", re.ASCII)  # x joins sizes
_NUMBER = re.compile(r"\d{1,99}", re.ASCII)

PRICED = 1024
"""Sizes of a range without end up to it have prices, where it begins below."""


@dataclasses.dataclass(frozen=True, order=True)
class SizeRange:
    """The sizes from ``least`` on, in steps, that some dimensions have together.

    The greatest of them is among the sizes of the Spec.

    Args:
        dims: the dimensions, ascending.
        least: the smallest size, at least 1.
        step: from each size to the next one, at least 1.
        is_open: whether calls may say any greater size in these steps, too: then the
            Spec has the greatest size that has a price.
    """

    dims: tuple[int, ...]
    least: int
    step: int = 1
    is_open: bool = False

    @staticmethod
    def written(text: str) -> range:
        """The sizes that a text has: ``1..512``, ``16..512/16``.

        Raises:
            SpecError: it is no range, an empty one, or one without end.
        """
        match = _RANGE.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[1]:
            raise SpecError(
                f"'{text}' is no range of sizes",
                "write its least size and its greatest: 1..512",
            )
        one, greatest = _range(text, match, 0)
        if one.is_open:
            raise SpecError(
                f"'{text}' has no greatest size, for which tensors between parts of a "
                "program have room",
                f"write {one.least}..{greatest}, or compile one Spec for any size",
            )
        return one.sizes(greatest)

    def sizes(self, greatest: int) -> range:
        """Every size, ascending; of a range without end every one with a price."""
        return range(self.least, greatest + 1, self.step)

    def takes(self, size: int, greatest: int) -> bool:
        """Whether a call may say a size."""
        is_more = self.is_open and size > greatest
        if is_more:
            return (size - greatest) % self.step == 0
        return size in self.sizes(greatest)

    def part(self, first: int, last: int, greatest: int) -> "SizeRange":
        """The sizes from one to another, and all above if that is the greatest."""
        is_open = self.is_open and last == greatest
        return SizeRange(self.dims, first, self.step, is_open)

    def text(self, greatest: int) -> str:
        """The sizes as the text form has them."""
        step = f"/{self.step}" if self.step > 1 else ""
        end = f"{greatest}{'+' * self.is_open}"
        is_usual = self.is_open and greatest == _priced(self.least, self.step)
        return f"{self.least}..{'' if is_usual else end}{step}"


@dataclasses.dataclass(frozen=True)
class WrittenSizes:
    """A list of sizes as a text has it.

    Args:
        greatest: the greatest of each place.
        ranges: the places that vary together, with the least size and the step.
    """

    greatest: tuple[int, ...]
    ranges: tuple[SizeRange, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "WrittenSizes | None":
        """The sizes that ``x`` joins; None where one is neither number, range nor name.

        Raises:
            SpecError: a name has no range or two; a range is empty, or its step does
                not lead from its least size to its greatest.
        """
        greatest: list[int] = []
        ranges: dict[str, SizeRange] = {}
        for place, part in enumerate(text.split("x")):
            match = _RANGE.fullmatch(part)
            if match is not None:
                name = match[1] or f"{place}"
                if name in ranges:
                    raise SpecError(
                        f"'{name}' has two ranges in the sizes '{text}'",
                        f"write '{name}' alone the second time",
                    )
                ranges[name], last = _range(part, match, place)
                greatest.append(last)
            elif _NAME.fullmatch(part):
                if part not in ranges:
                    raise SpecError(
                        f"the size '{part}' in '{text}' has no range before it",
                        f"write for example {part}=1..512 the first time",
                    )
                first = ranges[part]
                ranges[part] = dataclasses.replace(first, dims=(*first.dims, place))
                greatest.append(greatest[first.dims[0]])
            elif _NUMBER.fullmatch(part):
                greatest.append(int(part))
            else:
                return None
        varying = (one for one in ranges.values() if one.least < greatest[one.dims[0]])
        return cls(tuple(greatest), tuple(varying))

    @property
    def numbers(self) -> tuple[int, ...]:
        """For each place the number of its range; -1 where there is none."""
        numbers = {p: n for n, one in enumerate(self.ranges) for p in one.dims}
        return tuple(numbers.get(place, -1) for place in range(len(self.greatest)))

    def least(self, one: SizeRange) -> tuple[int, ...]:
        """The sizes with those of one range at its least."""
        return tuple(
            one.least if place in one.dims else size
            for place, size in enumerate(self.greatest)
        )

    def __str__(self) -> str:
        parts = list(map(str, self.greatest))
        for one, name in zip(self.ranges, "st", strict=False):
            first, *others = one.dims
            text = one.text(self.greatest[first])
            parts[first] = f"{name}={text}" if others else text
            for place in others:
                parts[place] = name
        return "x".join(parts)


def _range(part: str, match: re.Match[str], place: int) -> tuple[SizeRange, int]:
    """The range that a text has, and its greatest size."""
    step, is_open = int(match[5] or 1), match[3] is None or match[4] is not None
    least = int(match[2] or step)
    if step < 1 or least < 1 or (match[2] is None and match[3] is None):
        raise _empty(part)
    greatest = _priced(least, step) if match[3] is None else int(match[3])
    if least > greatest - is_open:
        raise _empty(part)
    if (greatest - least) % step:
        raise SpecError(
            f"the range '{part}' goes from {least} in steps of {step}, which do not "
            f"lead to {greatest}",
            f"end it with {greatest - (greatest - least) % step}",
        )
    return SizeRange((place,), least, step, is_open), greatest


def _empty(part: str) -> SpecError:
    return SpecError(
        f"the range '{part}' holds no sizes",
        "write its least size, at least 1, then its greatest: 1..512",
    )


def _priced(least: int, step: int) -> int:
    """The greatest size of a range without end that has a price: there are four."""
    last = max(PRICED, 3 * least, least + 3 * step)
    return last + (least - last) % step

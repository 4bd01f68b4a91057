"""Families of texts: ``{64,128}x{1..3}`` stands for six, as in a shell."""

import itertools
import re
from collections.abc import Sequence

from morello.errors import shortened
from morello.search.dp.axes import is_rung, size_axis
from morello.tools.input_output import UsageError

_GROUP = re.compile(r"\{([^{}]*)\}")
_LADDER = "ladder"
_RANGE = re.compile(rf"(\d{{1,9}})\.\.(\d{{1,9}})(?:\.\.(\d{{1,9}}|{_LADDER}))?")

MOST = 100_000
"""How many texts one may stand for."""

MOST_CHARACTERS = 1 << 26
"""The most characters of all expanded words together."""


def expand_braces(text: str) -> tuple[str, ...]:
    """Every text that ``text`` stands for, the last group changing fastest.

    A group is a list, ``{64,128}``, or numbers with both ends, ``{1..17}`` or
    ``{64..512..64}``; or the sizes 2^x and 3·2^x between them, ``{1..4096..ladder}``.

    Raises:
        UsageError: braces that do not pair, are nested or empty, a range without
            numbers, or too many texts.
    """
    parts = _GROUP.split(text)
    shown = shortened(text)
    if any("{" in part or "}" in part for part in parts):
        raise UsageError(
            f"'{shown}' has braces that do not pair, or one group inside of another",
            "write for example matmul:{64,128}x64x{16..64..16}:f32",
        )
    choices = []
    count = 1
    for index, part in enumerate(parts):
        choices.append(_members(part, shown) if index % 2 else (part,))
        count *= len(choices[-1])
        if count > MOST:
            raise UsageError(
                f"'{shown}' stands for {count:,} Specs or more", f"at most {MOST:,}"
            )
        if count * len(text) > MOST_CHARACTERS:
            raise UsageError(
                f"'{shown}' is a text of {len(text):,} characters, and stands for many",
                "give a shorter one",
            )
    return tuple("".join(chosen) for chosen in itertools.product(*choices))


def _numbers(first: int, last: int, step: str) -> Sequence[int]:
    """Numbers from one to another; endless ones for a step of 0."""
    if step == _LADDER:
        return [s for s in size_axis(max(1, last)) if is_rung(s) and first <= s <= last]
    return range(first, last + 1, int(step)) if int(step) else range(MOST + 1)


def _members(group: str, text: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(group)
    if match is None:
        members = tuple(part.strip() for part in group.split(","))
    else:
        numbers = _numbers(int(match[1]), int(match[2]), match[3] or "1")
        if len(numbers) > MOST:
            raise UsageError(
                f"'{{{group}}}' in '{text}' has no end or too many numbers",
                f"give a step from 1, and at most {MOST:,} numbers",
            )
        members = tuple(map(str, numbers))
    if not members or not all(members):
        raise UsageError(
            f"'{{{shortened(group)}}}' in '{text}' has an empty member or none",
            "write for example {64,128} or {1..17}",
        )
    return members

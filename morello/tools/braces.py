"""Families of texts: ``{64,128}x{1..3}`` stands for six, as in a shell."""

import itertools
import re

from morello.errors import shortened
from morello.tools.input_output import UsageError

_GROUP = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})(?:\.\.(\d{1,9}))?")

MOST = 100_000
"""How many texts one may stand for."""

MOST_CHARACTERS = 1 << 26
"""Maximum number of characters of all of them together."""


def expand_braces(text: str) -> tuple[str, ...]:
    """Every text that ``text`` stands for, the last group changing fastest.

    A group is a list, ``{64,128}``, or numbers with both ends, ``{1..17}`` or
    ``{64..512..64}``.

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


def _members(group: str, text: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(group)
    if match is None:
        members = tuple(part.strip() for part in group.split(","))
    else:
        first, last, step = (int(part or 1) for part in match.groups())
        if step == 0 or (last - first) // step >= MOST:
            raise UsageError(
                f"'{{{group}}}' in '{text}' has no end or too many numbers",
                f"give a step from 1, and at most {MOST:,} numbers",
            )
        members = tuple(map(str, range(first, last + 1, step)))
    if not members or not all(members):
        raise UsageError(
            f"'{{{shortened(group)}}}' in '{text}' has an empty member or none",
            "write for example {64,128} or {1..17}",
        )
    return members

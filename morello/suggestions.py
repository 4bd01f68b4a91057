"""Names that were perhaps meant, for the end of a remedy."""

import difflib
from collections.abc import Iterable, Mapping

_LIKENESS = 0.6
"""The least, of 1."""


def did_you_mean(
    word: str, names: Iterable[str], others: Mapping[str, str] | None = None
) -> str:
    """``"; did you mean 'matmul'?"`` where a name is like the word; else ``""``.

    Args:
        word: what was written.
        names: what may be written.
        others: what things are called elsewhere, with their names here.
    """
    meant = {**{name.lower(): name for name in names}, **(others or {})}
    close = difflib.get_close_matches(word.lower(), meant, 1, _LIKENESS)
    return f"; did you mean '{meant[close[0]]}'?" if close else ""

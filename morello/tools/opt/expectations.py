"""``--verify-diagnostics``: comments that say which diagnostics must be produced.

``// expected-error@+1 {{part of the message}}`` expects an error on the next line;
``@above``, ``@below`` and ``@unknown`` are places too, ``-re`` makes each inner
``{{…}}`` a regular expression, and warning, remark and note are expected likewise.
As in mlir-opt a line has one at most, and ends with it: more words make it a comment.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from morello.tools.opt.diagnostics import OP_NOTE, Diagnostic, Place

_START = re.compile(
    r"expected-(error|warning|remark|note)(-re)?[ \t]*(@[^\s{]*)?[ \t]*\{\{"
)
_RELATIVE = re.compile(r"@([+-]\d+)")


@dataclass(frozen=True)
class Expectation:
    """A diagnostic that must be produced once.

    Args:
        severity: of the diagnostic.
        line: where it must be, or None for no known location.
        text: between the outer braces.
        pattern: what must match somewhere in the message.
        place: of the comment.
    """

    severity: str
    line: int | None
    text: str
    pattern: str
    place: Place

    def fits(self, diagnostic: Diagnostic) -> bool:
        """Whether the diagnostic is the one that is expected."""
        line = diagnostic.place.line if diagnostic.place.file else None
        return (
            diagnostic.severity == self.severity
            and line == self.line
            and re.search(self.pattern, diagnostic.message) is not None
        )


def verify(
    lines: Sequence[str],
    first_line: int,
    file: str,
    produced: Iterable[Diagnostic],
    only_expected: bool = False,
) -> list[Diagnostic]:
    """Compare the comments of a piece of input with its diagnostics.

    Args:
        lines: of the piece.
        first_line: the number of its first line.
        file: the name of the input.
        produced: its diagnostics.
        only_expected: let diagnostics pass that no comment expects.

    Returns:
        An error for each mismatch; empty if all is as expected.
    """
    expected: list[Expectation] = []
    errors: list[Diagnostic] = []
    for scanned in _scan(lines, first_line, file):
        if isinstance(scanned, Expectation):
            expected.append(scanned)
        else:
            errors.append(scanned)
    for diagnostic in _flat(produced):
        fitting = next((one for one in expected if one.fits(diagnostic)), None)
        if fitting is not None:
            expected.remove(fitting)
        elif not only_expected:
            what = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            errors.append(Diagnostic("error", diagnostic.place, what))
    for one in expected:
        what = f'expected {one.severity} "{one.text}" was not produced'
        errors.append(Diagnostic("error", one.place, what, width=len(one.text)))
    return errors


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Diagnostics and their notes, without the notes that print the op."""
    for diagnostic in diagnostics:
        if diagnostic.severity == "note" and diagnostic.message.startswith(OP_NOTE):
            continue
        yield diagnostic
        yield from _flat(diagnostic.notes)


def _scan(
    lines: Sequence[str], first_line: int, file: str
) -> Iterator[Expectation | Diagnostic]:
    previous_code = first_line
    for number, whole in enumerate(lines, first_line):
        line = whole.rstrip()
        start = _START.search(line)
        if start and line.endswith("}}"):
            place = Place(file, number, start.start() + 1)
            yield _expectation(start, line[start.end() : -2], place, previous_code)
            continue
        if start and "}}" not in line[start.end() :]:
            place = Place(file, number, start.start() + 1)
            yield Diagnostic("error", place, "this expectation has no closing '}}'")
        previous_code = number


def _expectation(
    start: re.Match[str], text: str, place: Place, previous_code: int
) -> Expectation | Diagnostic:
    designator = start[3] or "@+0"
    line: int | None
    relative = _RELATIVE.fullmatch(designator)
    if relative:
        line = place.line + int(relative[1])
    elif designator == "@above":
        line = previous_code
    elif designator == "@below":
        line = place.line + 1
    elif designator == "@unknown":
        line = None
    else:
        what = (
            f"cannot read the place '{designator}'; "
            "write @+N, @-N, @above, @below or @unknown"
        )
        return Diagnostic("error", place, what)
    try:
        pattern = _pattern(text) if start[2] else re.escape(text)
        re.compile(pattern)
    except re.error as error:
        return Diagnostic("error", place, f"not a regular expression: {error}")
    return Expectation(start[1], line, text, pattern, place)


def _pattern(text: str) -> str:
    """Literal text in which each ``{{…}}`` is a regular expression."""
    end = text.rfind("}}") + 2  # behind it nothing ends, and would be looked at twice
    parts = re.split(r"\{\{(.*?\}?)\}\}(?!\})", text[:end])
    parts[-1] += text[end:]
    return "".join(
        f"(?:{part})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )

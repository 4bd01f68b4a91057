"""Tables of a run: every test as TSV, and pass rates as Markdown."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TextIO

from tests.conformance.outcomes import CLASSES, FAULTS, REFUSED, SKIPPED, Outcome, Row

_LONGEST = 400  # characters of a note in TSV


def tsv_header(attempts: Sequence[str]) -> str:
    """Names of the columns that `tsv_line` writes."""
    columns = [name for a in attempts for name in (a, f"{a}: note")]
    return "\t".join(["test", "seconds", "groups", *columns, "details"])


def tsv_line(row: Row, attempts: Sequence[str]) -> str:
    """One test: the class and the note of each attempt, empty where it was not made."""
    cells = [row.test, f"{row.seconds:.1f}", "; ".join(row.groups)]
    for attempt in attempts:
        outcome = row.outcomes.get(attempt)
        cells += [outcome.verdict, outcome.note] if outcome else ["", ""]
    cells.append("; ".join(f"{k}: {v}" for k, v in row.details.items() if v))
    return "\t".join(" ".join(cell.split())[:_LONGEST] for cell in cells)


def rows_of_tsv(lines: Iterable[str], attempts: Sequence[str]) -> list[Row]:
    """The tests that lines of `tsv_line` after a header tell of. A last line that was
    not written whole is none."""
    columns = len(tsv_header(attempts).split("\t"))
    rows = list[Row]()
    for line in itertools.islice(lines, 1, None):
        cells = line.split("\t")
        if len(cells) != columns or not line.endswith("\n"):
            continue
        test, seconds, groups, *pairs, _ = cells
        outcomes = {
            attempt: Outcome(verdict, note)
            for attempt, verdict, note in zip(
                attempts, pairs[::2], pairs[1::2], strict=True
            )
            if verdict
        }
        parts = tuple(group for group in groups.split("; ") if group)
        rows.append(Row(test, outcomes, parts, seconds=float(seconds)))
    return rows


def markdown(suite: str, rows: Sequence[Row], attempts: Sequence[str]) -> list[str]:
    """Lines of a table: the tests of each group that passed by each attempt or those
    before it, and how many are of each other class."""
    ran = [row for row in rows if row.verdict != SKIPPED]
    head = ["suite", "tests", *attempts, *CLASSES[1:]]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for group in [None, *sorted({group for row in ran for group in row.groups})]:
        part = [row for row in ran if group is None or group in row.groups]
        cells = [suite if group is None else f"… {group}", str(len(part))]
        for last in range(1, len(attempts) + 1):
            passed = sum(row.passed(attempts[:last]) for row in part)
            cells.append(f"{passed} ({passed / max(len(part), 1):.0%})")
        classes = Counter(row.verdict for row in part)
        lines.append(
            "| " + " | ".join([*cells, *(str(classes[c]) for c in CLASSES[1:])]) + " |"
        )
    return lines


def print_faults(rows: Sequence[Row], file: TextIO) -> None:
    """One line for each test that is wrong, crashed, hung, or raised from inside."""
    for row in rows:
        for attempt, outcome in row.outcomes.items():
            if outcome.verdict in FAULTS:
                note = " ".join(outcome.note.split())
                print(f"{row.test}, {attempt}: {outcome.verdict}: {note}", file=file)


def refused(rows: Sequence[Row], kinds: dict[str, str]) -> str:
    """The kinds of tests that no attempt took, and how many tests of each."""
    names = (row.test.split("#")[0] for row in rows if row.verdict == REFUSED)
    counts = Counter(kinds.get(name, name) for name in names)
    return ", ".join(f"{kind} {count}" for kind, count in counts.most_common())

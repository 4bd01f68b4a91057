"""Tables of what the code says, compared line by line with the file that lists them."""

from pathlib import Path


def check_table(file: Path, table: str, command: str) -> None:
    """Compare a table with its file; the failure names the lines and the command that
    writes it anew."""
    before, after = file.read_text().splitlines(), table.splitlines()
    old, new = set(before), set(after)
    lines = [f"- {line}" for line in before if line not in new]
    lines += [f"+ {line}" for line in after if line not in old]
    remedy = f"{file.name} differs: if each line is meant, run python -m {command}"
    assert before == after, "\n".join([*lines[:60], remedy])


def rows(test: str, name: str) -> list[tuple[str, ...]]:
    """The lines of a table beside a test, by columns.

    Args:
        test: the file of the test.
        name: of the table.
    """
    lines = Path(test).with_name(f"{name}.tsv").read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines]

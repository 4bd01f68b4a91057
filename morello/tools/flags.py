"""Command lines as frozen dataclasses: a field is a flag, and its help.

A class whose fields are made by `flag` or `positional` says all that there is to say of
a command line: `add_flags` fills a parser from it and `read_flags` gives it back.
"""

import argparse
import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Options = TypeVar("Options")

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
"""Shapes of inputs, by their names: ``--shape``."""

_KEY = "flag"


@dataclasses.dataclass(frozen=True)
class _Flag:
    """How a field is written on a command line."""

    help: str
    metavar: str
    parse: Callable[[str], Any]
    choices: Sequence[str] | None
    short: str
    required: bool
    is_positional: bool
    repeats: bool
    group: str = ""


def positional(
    help: str, metavar: str, *, repeats: bool = False, default: str | None = None
) -> Any:
    """A field that is a word without a flag, or with ``repeats`` any number of them.

    Args:
        default: stands for a word that is left out, if there is one.
    """
    row = _Flag(help, metavar, str, None, "", True, True, repeats)
    value = dataclasses.MISSING if default is None else default
    return dataclasses.field(default=value, metadata={_KEY: row})


def flag(
    help: str,
    *,
    default: Any = None,
    metavar: str = "",
    parse: Callable[[str], Any] = str,
    choices: Sequence[str] | None = None,
    short: str = "",
    required: bool = False,
    repeats: bool = False,
    group: str = "",
) -> Any:
    """A field that is a flag: ``--name VALUE``, or ``--name`` alone for a bool.

    Args:
        parse: gives the value of a word; raises `argparse.ArgumentTypeError`.
        short: a second spelling, ``-o``; alone if the field has no long one.
        repeats: the flag may be given many times; the field is a tuple.
        group: the heading under which help has it.
    """
    row = _Flag(help, metavar, parse, choices, short, required, False, repeats, group)
    return dataclasses.field(
        default=() if repeats else default, metadata={_KEY: row}, kw_only=True
    )


def flag_fields(options: type[Any]) -> "list[dataclasses.Field[Any]]":
    """The flags of a class of options: words, its own flags, then those it inherits."""
    declared = vars(options).get("__annotations__", {})
    fields = [field for field in dataclasses.fields(options) if _KEY in field.metadata]
    return sorted(
        fields,
        key=lambda f: (not f.metadata[_KEY].is_positional, f.name not in declared),
    )


def add_flags(parser: argparse.ArgumentParser, options: type[Any]) -> None:
    """Give a parser every flag of a class of options."""
    groups: dict[str, Any] = {"": parser}
    for field in flag_fields(options):
        row = field.metadata[_KEY]
        if row.group not in groups:
            groups[row.group] = parser.add_argument_group(row.group)
        _add(groups[row.group], field, row)


def _add(parser: Any, field: "dataclasses.Field[Any]", row: _Flag) -> None:
    if row.is_positional:
        is_optional = field.default is not dataclasses.MISSING
        parser.add_argument(
            field.name,
            metavar=row.metavar,
            help=row.help,
            nargs="*" if row.repeats else "?" if is_optional else None,
            default=field.default if is_optional else None,
        )
        return
    names = [n for n in (row.short, f"--{field.name.replace('_', '-')}") if n]
    if field.default is False and row.parse is str:
        parser.add_argument(*names, action="store_true", help=row.help)
        return
    parser.add_argument(
        *names,
        dest=field.name,
        action="append" if row.repeats else "store",
        default=[] if row.repeats else field.default,
        type=row.parse,
        choices=row.choices,
        metavar=row.metavar or None,
        required=row.required,
        help=row.help,
    )


def read_flags(options: type[Options], values: argparse.Namespace) -> Options:
    """The options that a parser with the flags of ``options`` has read."""
    fields = {}
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        if _KEY in field.metadata:
            value = getattr(values, field.name)
            fields[field.name] = tuple(value) if field.metadata[_KEY].repeats else value
    return options(**fields)


def whole_number(least: int) -> Callable[[str], int]:
    """A reader of integers of at least ``least``."""

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and int(text[:19]) >= least:
            return int(text[:19])
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer from {least} up")

    return parse


def part(text: str) -> tuple[int, int]:
    """A reader of ``I/N``: the I-th of N parts, counted from 1."""
    which, slash, count = text.partition("/")
    words = (which, count)
    if slash and all(word.isascii() and word.isdigit() for word in words):
        numbers = int(which[:9]), int(count[:9])
        if 1 <= numbers[0] <= numbers[1]:
            return numbers
    raise argparse.ArgumentTypeError(
        f"'{text}' is not a part I/N, with I from 1 to N, as 2/8 is"
    )


def number(legal: Callable[[float], bool], what: str) -> Callable[[str], float]:
    """A reader of numbers that are legal, and in a refusal what they should be."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not legal(value):
            raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
        return value

    return parse


seconds = number(
    lambda value: 0 < value <= 86_400, "a number of seconds between 0 and 86400"
)
percentage = number(lambda value: 0 <= value < 1e6, "a percentage from 0 on")
gigahertz = number(lambda value: 0 < value <= 100, "a clock in GHz between 0 and 100")


def assignment(text: str) -> tuple[str, str]:
    """A reader of ``name=value``."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"'{text}' is not written NAME=VALUE")
    return name, value


def input_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """A reader of ``name=4,8``: the shape of an input."""
    name, _, sizes = text.rpartition("=")
    words = sizes.split(",")
    if not name or not all(w.isascii() and w.isdigit() and int(w[:19]) for w in words):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not written INPUT=SIZES, as x=4,8 is"
        )
    return name, tuple(int(word[:19]) for word in words)


def target_names(text: str) -> tuple[str, ...]:
    """A reader of targets with commas between; commas in braces belong to a target."""
    commas = (m for m in re.finditer(r",|\{[^{}]*\}", text) if m[0] == ",")
    ends = [-1, *(comma.start() for comma in commas), len(text)]
    targets = tuple(text[a + 1 : b].strip() for a, b in itertools.pairwise(ends))
    if len(targets) < 2 or not all(targets):
        raise argparse.ArgumentTypeError(
            f"'{text}' does not name two targets or more, as avx2,avx512 does"
        )
    return targets

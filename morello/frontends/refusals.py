"""Refusals: the ops of a program that have no Spec, all at once, with locations."""

import dataclasses
import re
from typing import TYPE_CHECKING

from morello.errors import MorelloError

if TYPE_CHECKING:
    from morello.mlir import ir


@dataclasses.dataclass(frozen=True)
class Refusal:
    """An op that has no Spec."""

    op: str
    """The name of the op, as ``tensor.gather``."""
    place: str
    """The place of the op: ``model.mlir:12:8``, or what the exporter says."""
    reason: str
    """Why, without a full stop."""
    remedy: str
    """A sentence on what the user can do."""
    location: "ir.Location | None" = dataclasses.field(
        default=None, compare=False, repr=False
    )
    """The place for diagnostics of MLIR, while its context lives."""

    def __str__(self) -> str:
        return f"{self.place}: {self.op}: {self.reason}; {self.remedy}"


class ModelError(MorelloError):
    """A model with ops that have no Spec.

    Args:
        refusals: every one of them, at least one.
    """

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        self.refusals = refusals
        # One op of the source may have become several.
        lines = dict.fromkeys(map(str, refusals))
        what = "1 op has" if len(lines) == 1 else f"{len(lines)} ops have"
        listed = "".join(f"\n  {line}" for line in lines)
        super().__init__(f"{what} no Spec:{listed}")


def refusal_of(op: "ir.Operation", error: "OpError", source: str) -> Refusal:
    """The refusal of an op, with the reason and the remedy of an error."""
    location = error.location or op.location
    place = place_of(location, source)
    return Refusal(op.name, place, error.reason, error.remedy, location)


def place_of(location: "ir.Location", source: str) -> str:
    """A location as text: the first place in a file that it has, else its names.

    Args:
        source: the name of a file that MLIR knows no name of.
    """
    text = str(location)
    match = _FILE.search(text)
    if match is None:
        return text.removeprefix("loc(").removesuffix(")").replace('"', "")
    file, line, column = match.groups()
    return f"{source if file == '-' else file}:{line}:{column}"


def key_of(location: "ir.Location") -> str:
    """A location as text, without the calls that were inlined around it."""
    text = str(location).removeprefix("loc(").removesuffix(")")
    while text.startswith(_CALL):
        text = _called(text.removeprefix(_CALL))
    return text.replace('"', "")


_FILE = re.compile(r'"([^"]*)":(\d+):(\d+)')
_CALL = "callsite("
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]| at ')


def _called(text: str) -> str:
    """The first location of two that `` at `` parts."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0 and token[0] == " at ":
            return text[: token.start()]
    return text


class OpError(Exception):
    """One op is refused; whoever walks the program notes it and goes on.

    Args:
        reason: why, without a full stop.
        remedy: what the user can do.
        location: of an op inside, where it is not the op's own.
    """

    def __init__(
        self, reason: str, remedy: str, location: "ir.Location | None" = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.location = location

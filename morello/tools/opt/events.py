"""Events that the child of ``morello-opt`` sends to its parent."""

from dataclasses import dataclass

from morello.tools.opt.diagnostics import Diagnostic

CHECKING = "checking the pipeline"
PARSING = "parsing the input"
RUNNING = "the pipeline"
PRINTING = "printing the result"


@dataclass(frozen=True)
class Entered:
    """The next step of the child, which is blamed for a crash that follows."""

    stage: str


@dataclass(frozen=True)
class BadUsage:
    """The pipeline or a plug-in is refused."""

    message: str


@dataclass(frozen=True)
class Said:
    """A diagnostic about the chunk that is being worked on."""

    diagnostic: Diagnostic


@dataclass(frozen=True)
class Finished:
    """A chunk is done: its output, or None if it has failed."""

    index: int
    output: bytes | None

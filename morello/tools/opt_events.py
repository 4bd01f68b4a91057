"""What the child of ``morello-opt`` tells its parent."""

from dataclasses import dataclass

from morello.tools.diagnostics import Diagnostic

CHECKING = "checking the pipeline"
PARSING = "parsing the input"
RUNNING = "the pipeline"
PRINTING = "printing the result"


@dataclass(frozen=True)
class Entered:
    """What the child is about to do; it is to blame for a crash that follows."""

    stage: str


@dataclass(frozen=True)
class BadUsage:
    """The pipeline or a plug-in is refused."""

    message: str


@dataclass(frozen=True)
class Dumped:
    """The pipeline, for ``--dump-pass-pipeline``."""

    text: str


@dataclass(frozen=True)
class Said:
    """A diagnostic about the chunk that is being worked on."""

    diagnostic: Diagnostic


@dataclass(frozen=True)
class Finished:
    """A chunk is done: its output, or None if it has failed."""

    index: int
    output: str | None

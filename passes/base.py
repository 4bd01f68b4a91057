"""Passes: a pass is a frozen dataclass whose fields are its options.

Read `Pass` first, then `registry.py` (names to passes) and `pipeline.py` (text to a
pass manager). A pass rewrites one ``builtin.module`` in place, or raises `PassFailure`
with the location of the op that it refuses. A `Bundle` is a name for a piece of
pipeline text.
"""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from morello.errors import MorelloError
from morello.mlir import ir


class PassFailure(MorelloError):  # noqa: N818 -- a word of the domain
    """A pass refuses an op.

    Args:
        location: where; printed as ``file:line:col``.
        message: the fault and the remedy.
    """

    def __init__(self, location: ir.Location, message: str) -> None:
        super().__init__(message)
        self.location = location


def option(default: Any, text: str) -> Any:
    """A field of a pass that is an option on the command line.

    A field ``fast_math`` is spelled ``fast-math`` in a pipeline.

    Args:
        default: the value when the pipeline does not give one (bool, int or str).
        text: one line for ``--list-passes`` and the docs.
    """
    return dataclasses.field(default=default, metadata={"help": text})


@dataclasses.dataclass(frozen=True)
class Pass(ABC):
    """A rewrite of a module.

    A subclass is a frozen dataclass; its docstring's first line is the description in
    ``--list-passes``, its fields (made by `option`) are its options. A value that no
    run could use is refused in ``__post_init__`` by a `MorelloError`.
    """

    name: ClassVar[str]
    """The argument in a pipeline: ``morello-…``."""

    @abstractmethod
    def run(self, module: ir.Operation) -> None:
        """Rewrite ``module`` (a ``builtin.module``) in place.

        Raises:
            PassFailure: an op that the pass refuses.
        """


@dataclasses.dataclass(frozen=True)
class Bundle(ABC):
    """A name for several passes that are always run together.

    Options, docstring and name are as those of a `Pass`. A pipeline that names a bundle
    runs, in its place and in the same pass manager, what `expand` returns.
    """

    name: ClassVar[str]
    """The argument in a pipeline: ``morello-…``."""

    @abstractmethod
    def expand(self) -> str:
        """The elements of the pipeline, separated by commas, without an anchor."""

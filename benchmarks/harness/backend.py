"""Interface of a contender: `Backend`, and `Ready` for one case."""

import abc
import dataclasses
from typing import ClassVar

from benchmarks.harness.case import Array, Case, Data


class MissingError(Exception):
    """The contender is not installed, or cannot be used here; says why."""


class UnsupportedError(Exception):
    """The contender cannot compute a case; says why."""


@dataclasses.dataclass(frozen=True)
class About:
    """Description of a contender by itself.

    Args:
        version: of the library.
        limit: what it reports as its instruction set, or how it was held to it.
        confirmed: whether that report is its own and names AVX2.
    """

    version: str
    limit: str
    confirmed: bool


class Ready(abc.ABC):
    """A case, ready to be run again and again on the same operands."""

    note: str = ""
    """A remark for readers on how this contender does it."""
    out_dtype: str = ""
    """The dtype of `output`; that of the case if empty."""
    in_python: bool = False
    """Whether each call is made from Python, and pays for that."""

    @abc.abstractmethod
    def run(self, calls: int) -> None:
        """Compute the product ``calls`` times."""

    @abc.abstractmethod
    def output(self) -> Array:
        """Output of the last call, [b, m, n], stored as `case.store` does."""


class Backend(abc.ABC):
    """A contender in its own process.

    Args:
        threads: how many threads a call may use.
    """

    name: ClassVar[str]
    open_forms: ClassVar[tuple[str, ...]] = ("open", "row", "column")
    """The forms of the right operand that are tried where it is left open."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @abc.abstractmethod
    def open(self) -> About:
        """Load the library.

        Raises:
            MissingError: it is not there.
        """

    @abc.abstractmethod
    def ready(self, case: Case, data: Data) -> Ready:
        """Get a case ready.

        Raises:
            UnsupportedError: the contender has no such product.
        """

"""Passes that fail in every way a pass can, for the tests of the tools."""

import dataclasses
import os
from typing import ClassVar

from morello.errors import MorelloError
from morello.mlir import ir
from morello.passes.base import Bundle, Pass, PassFailure, option
from morello.passes.registry import Row


@dataclasses.dataclass(frozen=True)
class Fail(Pass):
    """Fail in the way that is asked for."""

    name: ClassVar[str] = "test-fail"
    how: str = option("refuse", "refuse, error, abort, raise, silent or pass")
    times: int = option(1, "how often to refuse")
    loud: bool = option(False, "say it in capitals")

    def __post_init__(self) -> None:
        """Refuse a number of times that makes no sense."""
        if self.times < 1:
            raise MorelloError("'times' must be at least 1", "give a positive number")

    def run(self, module: ir.Operation) -> None:
        """Fail."""
        op = module.regions[0].blocks[0].operations[0]
        match self.how:
            case "refuse":
                text = "this op is refused"
                for _ in range(self.times - 1):
                    op.location.emit_error("and once more")
                raise PassFailure(op.location, text.upper() if self.loud else text)
            case "error":
                raise MorelloError("no program exists", "give more memory")
            case "abort":
                os.abort()
            case "raise":
                raise KeyError("missing")
            case "silent":
                os._exit(3)
            case "pass":
                op.attributes["tested"] = ir.UnitAttr.get()
            case _:
                raise MorelloError(f"cannot fail by '{self.how}'")


@dataclasses.dataclass(frozen=True)
class Tidy(Bundle):
    """Run cse and canonicalize."""

    name: ClassVar[str] = "test-tidy"
    passes: str = option("cse,canonicalize", "what to run")

    def expand(self) -> str:
        """The passes that were asked for."""
        return self.passes


ROWS = (
    Row("test-fail", "faulty_passes", "Fail"),
    Row("test-tidy", "faulty_passes", "Tidy"),
    Row("test-gone", "faulty_passes", "Gone"),
)

"""Stages of a Spec, or of the Specs of a model, on the way to machine code."""

import dataclasses
import re

from morello.errors import CompileError
from morello.machine import Target
from morello.search import Solution
from morello.spec import Spec


@dataclasses.dataclass(frozen=True)
class Stages:
    """The texts from one Spec, or the Specs of a model, to LLVM IR."""

    name: str
    """Name of the function."""
    target: Target
    parts: tuple[tuple[Spec, Solution | None], ...]
    """Each Spec, and its program; None if the schedule was given."""
    schedule: str
    mlir: str
    llvm: str = dataclasses.field(repr=False)
    workspace_bytes: int
    cost: int
    """Millicycles of a call by the cost model."""
    filled: tuple[Solution, ...] = ()
    """The programs that the search found for the holes of a given schedule."""

    @property
    def threads(self) -> int:
        """The most threads that a call uses."""
        return self.target.threads if "omp.parallel" in self.mlir else 1

    @property
    def spec(self) -> Spec:
        """The Spec of a kernel that has one part.

        Raises:
            CompileError: there are several, or none.
        """
        return self._only[0]

    @property
    def solution(self) -> Solution | None:
        """The program of the only Spec; None if the schedule was given.

        Raises:
            CompileError: there are several, or none.
        """
        return self._only[1]

    @property
    def _only(self) -> tuple[Spec, Solution | None]:
        if len(self.parts) != 1:
            raise CompileError(
                f"{self.name} has {len(self.parts)} Specs, not one",
                "read Kernel.specs and Kernel.solutions, which list all",
            )
        return self.parts[0]


def name_module(llvm: str, name: str) -> str:
    """LLVM IR whose module, and so the object's file symbol, is called ``name``."""
    return _SOURCE.sub(f'source_filename = "{name}"', llvm)


_SOURCE = re.compile(r'^source_filename = "[^"]*"', re.MULTILINE)

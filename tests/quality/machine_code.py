"""Reads assembly: the loops of a function and their instructions."""

import dataclasses
import re

_LABEL = re.compile(r"^(\.LBB\w+):")
_JUMP = re.compile(r"^j\w+\s+(\.LBB\w+)")
_STACK = re.compile(r"\(%rsp[,)]")


@dataclasses.dataclass(frozen=True)
class Loop:
    """The instructions from a label to the last jump back to it."""

    lines: tuple[str, ...]

    @property
    def vector_products(self) -> int:
        """Multiply-adds, or multiplications of integers, of whole registers."""
        return sum(
            bool(re.match(r"vfn?madd\w+ps|vpmulld", line)) and "%ymm" in line
            for line in self.lines
        )

    @property
    def scalar_products(self) -> int:
        """Multiply-adds, or multiplications, of single elements."""
        return sum(
            bool(re.match(r"vfn?madd\w+ss|vmulss|imull", line)) for line in self.lines
        )

    @property
    def accumulators(self) -> int:
        """Registers that products are added to."""
        added = (re.match(r"vfmadd\w+ps.*(%ymm\d+)$", line) for line in self.lines)
        return len({match[1] for match in added if match})

    @property
    def spills(self) -> tuple[str, ...]:
        """Vector registers that are stored to or loaded from the stack."""
        return tuple(
            line
            for line in self.lines
            if _STACK.search(line) and re.search(r"%[xy]mm", line)
        )


def instructions(assembly: str) -> list[str]:
    """Instructions and labels, without directives and comments."""
    lines = (line.split("#")[0].strip() for line in assembly.splitlines())
    return [line for line in lines if line and not re.match(r"\.(?!L)", line)]


def loops(assembly: str) -> list[Loop]:
    """Every loop, inner and outer, in order."""
    lines = instructions(assembly)
    labels = {m[1]: i for i, s in enumerate(lines) if (m := _LABEL.match(s))}
    ends: dict[int, int] = {}
    for index, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump and labels.get(jump[1], index) < index:
            ends[labels[jump[1]]] = index
    return [Loop(tuple(lines[start:end])) for start, end in sorted(ends.items())]


def innermost(assembly: str) -> list[Loop]:
    """The loops that hold no other."""
    every = loops(assembly)
    return [
        loop
        for loop in every
        if not any(set(_labels(loop)[1:]) & {_labels(o)[0]} for o in every)
    ]


def _labels(loop: Loop) -> list[str]:
    return [m[1] for line in loop.lines if (m := _LABEL.match(line))]

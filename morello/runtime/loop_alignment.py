"""Alignment of the code of innermost loops.

A processor fetches instructions by lines. A short loop that begins in the middle of one
takes a line more for each trip, and how long the same kernel takes would depend on what
stands before it: up to a twentieth, measured on loops of 24 to 45 instructions.
"""

import re

LINE = 64
"""Bytes of a line of instructions."""

_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^([-\w.$]+):")
_BRANCH = re.compile(r"^  br .*")
_TARGET = re.compile(r"label %([-\w.$]+)")
_NUMBERED = re.compile(r"^!(\d+) = ", re.MULTILINE)


def align_loops(text: str) -> str:
    """The module with each innermost loop told to begin at a line.

    Args:
        text: LLVM IR whose blocks stand in the order of the program: a branch to a
            block above it closes a loop. Loops that have metadata are left alone.
    """
    wish = 1 + max(map(int, _NUMBERED.findall(text)), default=-1)
    nodes = [f'!{wish} = !{{!"llvm.loop.align", i32 {LINE}}}']

    def function(match: re.Match[str]) -> str:
        lines = match[0].splitlines()
        for at in _innermost(lines):
            if "!llvm.loop" not in lines[at]:
                number = wish + len(nodes)
                nodes.append(f"!{number} = distinct !{{!{number}, !{wish}}}")
                lines[at] += f", !llvm.loop !{number}"
        return "\n".join(lines)

    aligned = _FUNCTION.sub(function, text)
    return "\n".join([aligned, *nodes, ""]) if len(nodes) > 1 else text


def _innermost(lines: list[str]) -> list[int]:
    """Find the branches of a function that close loops without loops in them."""
    above: dict[str, int] = {}
    closes: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if label := _LABEL.match(line):
            above[label[1]] = at
        elif _BRANCH.match(line):
            begins = [above[t] for t in _TARGET.findall(line) if t in above]
            if begins and not any(max(begins) < begin for begin, _ in closes):
                closes.append((max(begins), at))
    return [at for _, at in closes]

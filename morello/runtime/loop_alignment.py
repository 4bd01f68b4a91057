"""Alignment of the code of innermost loops, and which loops LLVM may vectorise.

A processor fetches instructions by lines. A short loop that begins in the middle of one
takes a line more for each trip, and how long the same kernel takes would depend on what
stands before it: up to a twentieth, measured on loops of 24 to 45 instructions.

Loops of kernels are as their schedule has them. Those of plain code (`FREE`) are LLVM's
to vectorise, which it does for whole modules: all others there refuse it.
"""

import re

LINE = 64
"""Bytes of a line of instructions."""

FREE = "llvm.loop.mustprogress"
"""Metadata of a loop that LLVM may vectorise."""

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
    first = 1 + max(map(int, _NUMBERED.findall(text)), default=-1)
    wishes = [f'!{first} = !{{!"llvm.loop.align", i32 {LINE}}}']
    if FREE in text:
        wishes.append(f'!{first + 1} = !{{!"llvm.loop.vectorize.enable", i1 false}}')
    nodes = list(wishes)

    def function(match: re.Match[str]) -> str:
        lines = match[0].splitlines()
        for at, is_innermost in _closing(lines):
            wanted = range(first + (not is_innermost), first + len(wishes))
            if wanted and "!llvm.loop" not in lines[at]:
                number = first + len(nodes)
                named = ", ".join(f"!{n}" for n in (number, *wanted))
                nodes.append(f"!{number} = distinct !{{{named}}}")
                lines[at] += f", !llvm.loop !{number}"
        return "\n".join(lines)

    aligned = _FUNCTION.sub(function, text)
    return "\n".join([aligned, *nodes, ""]) if len(nodes) > len(wishes) else text


def _closing(lines: list[str]) -> list[tuple[int, bool]]:
    """Find the branches of a function that close loops, each with whether no other loop
    is in its loop."""
    above: dict[str, int] = {}
    closes: list[tuple[int, int, bool]] = []
    for at, line in enumerate(lines):
        if label := _LABEL.match(line):
            above[label[1]] = at
        elif _BRANCH.match(line):
            begins = [above[t] for t in _TARGET.findall(line) if t in above]
            if begins:
                has_inner = any(max(begins) < begin for begin, _, _ in closes)
                closes.append((max(begins), at, not has_inner))
    return [(at, is_innermost) for _, at, is_innermost in closes]

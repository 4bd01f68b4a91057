"""Trips of loops as weights of their branches: how often LLVM takes a block to run.

LLVM weighs registers by how often their loop runs, which it guesses from the depth of
the loop alone. Where kernels stand side by side in a loop, the constants of a deep
nest of few trips would then keep registers that the sums of the next kernel need, whose
inner loop, less deep, runs more often and would spill. Trips that are numbers say it.
"""

import re

_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_NUMBERED = re.compile(r"^!(\d+) = ", re.MULTILINE)
_PHI = re.compile(r"^  (%[-\w.$]+) = phi i64 (\[.*\])$", re.MULTILINE)
_COMING = re.compile(r"\[ ([^,]+), %[-\w.$]+ \]")
_ADD = re.compile(
    r"^  (%[-\w.$]+) = add (?:nsw |nuw )*i64 (%[-\w.$]+), (\d+)$", re.MULTILINE
)
_HEAD = re.compile(
    r"^  (%[-\w.$]+) = icmp [su]lt i64 (%[-\w.$]+), (\d+)\n"
    r"  br i1 \1, label %[-\w.$]+, label %[-\w.$]+$",
    re.MULTILINE,
)
_GREATEST = 2**32 - 1
"""The greatest weight of a branch."""


def weigh_loops(text: str) -> str:
    """The module with a weight at the head of each loop whose trips are a number.

    Args:
        text: LLVM IR. A head compares a counter with a number, after which its branch
            enters the loop or leaves it; the counter starts at a number, and one
            addition of a number is its only step. Branches that have metadata are left
            alone.
    """
    first = 1 + max(map(int, _NUMBERED.findall(text)), default=-1)
    numbers: dict[int, int] = {}
    """The number of the metadata of each count of trips."""

    def function(match: re.Match[str]) -> str:
        coming = {m[1]: _COMING.findall(m[2]) for m in _PHI.finditer(match[0])}
        steps = {(m[1], m[2]): int(m[3]) for m in _ADD.finditer(match[0])}

        def head(match: re.Match[str]) -> str:
            counter, end = match[2], int(match[3])
            starts = [int(v) for v in coming.get(counter, ()) if v.isdecimal()]
            others = [v for v in coming.get(counter, ()) if not v.isdecimal()]
            step = steps.get((others[0], counter)) if len(others) == 1 else None
            if len(starts) != 1 or not step or starts[0] >= end:
                return match[0]
            trips = min(-(-(end - starts[0]) // step), _GREATEST)
            number = numbers.setdefault(trips, first + len(numbers))
            return f"{match[0]}, !prof !{number}"

        return _HEAD.sub(head, match[0])

    weighed = _FUNCTION.sub(function, text)
    weights = [
        f'!{number} = !{{!"branch_weights", i32 {trips}, i32 1}}'
        for trips, number in numbers.items()
    ]
    return "\n".join([weighed.rstrip("\n"), *weights, ""]) if weights else text

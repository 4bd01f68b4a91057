"""The programs of a Spec with a size that each call says, and what they cost."""

from collections.abc import Iterable, Iterator

from morello.explain.words import Clock, counted, percent, searched_text
from morello.machine import Target
from morello.search.impl import Impl
from morello.search.ranges.cover import Cover
from morello.search.ranges.over import Box
from morello.search.ranges.sizes import Call
from morello.spec import Spec, print_spec

_HEAD = ("sizes", "cycles at the greatest", "regret", "program")


def cover_text(cover: Cover, target: Target, clock: Clock) -> str:
    """Each range of sizes with its regret and its program at the greatest size."""
    spec = cover.sizes.spec
    regrets = cover.regrets
    worst = max(regrets, key=lambda size: regrets[size])
    mean = sum(regrets.values()) / len(regrets)
    name = " x ".join(spec.kind.dims[one.dims[0]] for one in spec.ranges)
    what = "size" if len(spec.ranges) == 1 else "pair of sizes"
    lines = [
        f"{print_spec(cover.impl.spec, target.limits)} on {target.name}",
        f"{counted(len(regrets), 'size')} of {name}: "
        f"{counted(len(cover.parts), 'range')} with a program each, "
        f"{searched_text(cover.sizes.statistics)}",
        f"regret, over the best program of each {what}: mean {percent(mean)}, worst "
        f"{percent(regrets[worst])} at {name} = {_call(worst)}",
        "",
        *_table(_rows(cover, regrets, clock)),
        "",
        "regret: the greatest of the range; it has the comparisons that choose a "
        "program for",
        "what remains of a loop, and not those that choose the range",
    ]
    searched = len(cover.sizes.costs.keys() & regrets.keys())
    if searched < len(regrets):
        lines += [
            f"searched: {searched:,} of {counted(len(regrets), 'size')}; another is "
            "compared with the best of",
            "all programs here, which --prove compares with that of a search",
        ]
    if cover.beyond:
        lines.append("unknown: sizes above those that were searched have no prices")
    return "\n".join(lines) + "\n"


def _rows(
    cover: Cover, regrets: dict[Call, float], clock: Clock
) -> Iterator[tuple[str, ...]]:
    yield _HEAD
    for part in cover.parts:
        part_regrets = [regret for call, regret in regrets.items() if call in part.box]
        last = int(part.costs[-1])
        cells = clock.cycles(last).removesuffix(" cycles"), percent(max(part_regrets))
        yield (_sizes(part.box, cover.impl.spec), *cells, _program(part.impl))
    for box, impl in cover.beyond:
        yield (_sizes(box, cover.impl.spec), "", "unknown", _program(impl))


def _sizes(box: Box, spec: Spec) -> str:
    """The sizes of a box of those of a Spec."""
    return " x ".join(
        str(first)
        if first == last
        else f"{first}..{'' if one.is_open and last == greatest else last}"
        for one, greatest, first, last in zip(
            spec.ranges, spec.greatest, *box, strict=True
        )
    )


def _call(sizes: Call) -> str:
    """The sizes of a call."""
    return " x ".join(map(str, sizes))


def _program(impl: Impl) -> str:
    """The decisions down to the first that leaves several holes, then its kernels."""
    words = []
    while True:
        words.append(str(impl.action))
        leading = [b.impl for b in impl.branches if b.role != "remainder"]
        if not leading:
            break
        impl = leading[-1]
    return "; ".join(word for word in words if not word.startswith("move("))


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i == len(widths) - 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in every
    ]


def proof_text(cover: Cover, alone: dict[Call, int]) -> str:
    """The costs of some sizes beside those of a search of each alone.

    Args:
        alone: the cost that a search of the sizes of a call alone has found.
    """
    wrong = {call: cost for call, cost in alone.items() if cost != cover.least[call]}
    if not wrong:
        return f"{counted(len(alone), 'size')} searched alone: the same costs\n"
    lines = [f"{counted(len(wrong), 'size')} of {len(alone)} searched alone differ:"]
    lines += [
        f"  {_call(c)}: {cost} millicycles, and {cover.least[c]:.0f} with the others"
        for c, cost in wrong.items()
    ]
    return "\n".join(lines) + "\n"

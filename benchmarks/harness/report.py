"""A record as Markdown."""

from collections.abc import Iterable, Sequence

from benchmarks.cost_model.statistics import geometric_mean
from benchmarks.harness.record import Contender, Record
from benchmarks.harness.results import Entry, Row
from benchmarks.harness.suites import suite_of


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are text."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def time_text(seconds: float) -> str:
    """A time in the unit that fits, four digits of it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} us"


def rate_text(row: Row, seconds: float) -> str:
    """Rate that bounds a row, a second: operations or bytes."""
    if row.roof.bound(row.flops, row.bytes) == "bandwidth":
        return f"{row.bytes / seconds / 1e9:.1f} GB/s"
    return f"{row.flops / seconds / 1e9:.1f} G/s"


def markdown(record: Record) -> str:
    """The page of a record."""
    parts = [
        f"# {record.name}",
        f"- machine: {record.machine}\n" + "\n".join(_origins(record.rows)),
        _LEGEND,
    ]
    for ours in record.ours:
        parts += [f"## {ours} against the best peer", _against(record.rows, ours)]
    parts += ["## All contenders", _all(record)]
    parts += ["## What could not be timed", _failures(record.rows)]
    parts += ["## How each is limited", _limits(record)]
    parts += ["## Roofs", _roofs(record.roofs)]
    return "\n\n".join(part for part in parts if part) + "\n"


_LEGEND = """Best and median of samples of back-to-back calls on operands that stay
where they are, all contenders in turns. Of the roof: the least time that the arithmetic
or the reading of as much memory took in the same rounds, over the best time; of DRAM:
the same of reading far more than the caches hold. A ratio is the time of the best peer
over ours: above 1, ours is faster. In turns: the roof's time, or that of a peer, over
ours in the same round, the middle of all rounds; of the peers the least. What a whole
round shares, as the clock of a core that others use, is in none of these.
G/s are 10^9 multiplications and additions a second; GB/s count every operand once. `p`:
called from Python, which is in the time."""


def _origins(rows: Sequence[Row]) -> list[str]:
    """A line for each command that measured rows."""
    by_origin: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        key = (row.origin["command"], row.origin["commit"])
        by_origin.setdefault(key, []).append(row)
    return [
        f"- `{command}` at {commit}, {_span([r.origin['date'] for r in group])}, "
        f"load {min(min(r.load) for r in group):.1f} to "
        f"{max(max(r.load) for r in group):.1f}"
        for (command, commit), group in by_origin.items()
    ]


def _span(dates: list[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}"


def _against(rows: Sequence[Row], ours: str) -> str:
    head = ["Spec", "threads", "best", "median", "rate", "of the roof"]
    head += ["roof in turns", "bound by", "of DRAM", "best peer", "its best", "ratio"]
    head += ["ratio of medians", "ratio in turns", "commit"]
    lines: list[list[str]] = []
    ratios: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        mine = row.entry(ours)
        if mine is None:
            continue
        if not mine.samples:
            blank = [mine.status, *["-"] * 6]
            cells = [f"`{row.spec}`", str(row.threads), *blank, *_peer(row, ours)]
            lines.append([*cells, row.origin["commit"]])
            continue
        ratio, median = row.ratio(ours), row.ratio(ours, median=True)
        turns = row.ratio_in_turns(ours)
        if ratio is not None and median is not None and turns is not None:
            ratios.setdefault(suite_of(row.spec), []).append((ratio, median, turns))
        lines.append(
            [
                *(f"`{row.spec}`", str(row.threads)),
                *(time_text(mine.best), time_text(mine.median)),
                *(rate_text(row, mine.best), f"{row.fraction(mine.best):.1%}"),
                "-" if mine.fraction is None else f"{mine.fraction:.1%}",
                row.roof.bound(row.flops, row.bytes),
                _of_dram(row, mine.best),
                *_peer(row, ours)[:2],
                *map(_ratio, (ratio, median, turns)),
                row.origin["commit"],
            ]
        )
    return "\n\n".join([table(head, lines), *_means(ratios)])


def _means(ratios: dict[str, list[tuple[float, float, float]]]) -> list[str]:
    """The geometric means of each suite, of best times, of medians and in turns; and
    the least of those in turns."""
    if not ratios:
        return []
    rows = []
    for suite, values in ratios.items():
        best, medians, turns = zip(*values, strict=True)
        figures = [geometric_mean(best), min(best), geometric_mean(medians)]
        figures += [geometric_mean(turns), min(turns)]
        rows.append([suite, str(len(values)), *(f"{f:.3f}" for f in figures)])
    head = ["suite", "Specs compared", "mean ratio", "least", "mean ratio of medians"]
    head += ["mean ratio in turns", "least in turns"]
    return [f"Geometric means:\n\n{table(head, rows)}"]


def _of_dram(row: Row, seconds: float) -> str:
    if not row.roof.dram or row.roof.bound(row.flops, row.bytes) != "bandwidth":
        return "-"
    return f"{row.bytes / seconds / 1e9 / row.roof.dram:.1%}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _peer(row: Row, ours: str) -> list[str]:
    """The best peer, its time, and dashes for the ratios."""
    best = row.best_other(ours)
    if best is None:
        return ["-"] * 5
    return [best.name, time_text(best.best), "-", "-", "-"]


def _all(record: Record) -> str:
    names = [c.name for c in record.contenders if not c.missing]
    rows = []
    for row in record.rows:
        cells = [_cell(row, row.entry(name)) for name in names]
        rows.append([f"`{row.spec}`", str(row.threads), _bound(row), *cells])
    return table(["Spec", "threads", "roof", *names], rows)


def _bound(row: Row) -> str:
    return rate_text(row, row.roof.seconds(row.flops, row.bytes))


def _cell(row: Row, entry: Entry | None) -> str:
    if entry is None or not entry.samples:
        return "-"
    text = rate_text(row, entry.best).split()[0]
    if entry.above_roof:
        return f"~~{text}~~ above the roof"
    marks = " p" if entry.in_python else ""
    return f"{text}{marks}" + (f" ({entry.out_dtype} out)" if entry.out_dtype else "")


def _failures(rows: Sequence[Row]) -> str:
    by_reason: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for entry in row.entries:
            if entry.status != "ok":
                detail = entry.detail.replace(row.spec, "it")
                key = (entry.name, entry.status, detail)
                by_reason.setdefault(key, []).append(f"`{row.spec}`")
    lines = [
        f"- {name}: {status}: {detail} ({_some(list(dict.fromkeys(specs)))})"
        for (name, status, detail), specs in by_reason.items()
    ]
    return "\n".join(lines) or "Nothing."


def _some(specs: list[str]) -> str:
    """Names, or how many they are."""
    return ", ".join(specs) if len(specs) <= 3 else f"{len(specs)} Specs"


def _limits(record: Record) -> str:
    head = ["contender", "version", "reports", "AVX2 by its report", "most of the roof"]
    return table(head, [_limit(c, record) for c in record.contenders])


def _limit(contender: Contender, record: Record) -> list[str]:
    if contender.missing:
        return [contender.name, f"missing: {contender.missing}", "-", "-", "-"]
    shares = [
        row.flops / entry.best / (row.roof.limit * 1e9)
        for row in record.rows
        if (entry := row.entry(contender.name)) is not None and entry.samples
    ]
    return [
        contender.name,
        contender.version,
        contender.limit,
        "yes" if contender.confirmed else "no",
        f"{max(shares):.1%}" if shares else "-",
    ]


def _roofs(roofs: dict[str, dict[str, float]]) -> str:
    columns = list(
        dict.fromkeys(key for roofs_of in roofs.values() for key in roofs_of)
    )
    rows = [
        [name, *(f"{roofs_of[key]:.1f}" if key in roofs_of else "-" for key in columns)]
        for name, roofs_of in roofs.items()
    ]
    text = table(["10^9 a second", *columns], rows)
    return f"{text}\n\nArithmetic in multiplications and additions, reading in bytes."

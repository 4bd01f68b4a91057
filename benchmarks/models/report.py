"""A record as Markdown: by model, the worst layers, all layers."""

from collections.abc import Iterator

from benchmarks.cost_model.statistics import geometric_mean
from benchmarks.harness.report import table, time_text
from benchmarks.models.layers import MODELS, Layer
from benchmarks.models.record import OURS, Record, Shape

_LEGEND = """Best of samples of back-to-back calls, all contenders in turns, held to
AVX2. A ratio is the time of the fastest peer over ours: above 1, ours is faster. Of a
forward pass: all layers that could be compared, each as often as the model runs it.
`tuned` is after `morello tune`, `morello` the model's choice."""

_WORST = 12

Place = tuple[str, Layer, Shape]
"""A model, a layer of it, and its shape."""


def places(record: Record) -> list[Place]:
    """The layers that were measured, model by model."""
    return [
        (model, layer, record.shapes[layer.spec])
        for model, layers in MODELS.items()
        for layer in layers
        if layer.spec in record.shapes
    ]


def ours_in(record: Record) -> list[str]:
    """Our contenders that have samples."""
    return [n for n in OURS if any(n in s.samples for s in record.shapes.values())]


def markdown(record: Record) -> str:
    """The page of a record."""
    every, ours = places(record), ours_in(record)
    parts = [
        f"# {record.name}",
        f"- machine: {record.machine}\n" + "\n".join(_origins(record)),
        f"{_LEGEND}",
        "## By model",
        _by_model(every, ours),
    ]
    for name in ours:
        parts += [f"## Worst layers of {name}", _worst(every, name)]
    parts += ["## All layers", _all(every, ours)]
    parts += ["## What could not be timed", _failures(record)]
    return "\n\n".join(parts) + "\n"


def _origins(record: Record) -> list[str]:
    """A line for each command that measured shapes."""
    commands: dict[tuple[str, str], list[Shape]] = {}
    for shape in record.shapes.values():
        key = shape.origin["command"], shape.origin["commit"]
        commands.setdefault(key, []).append(shape)
    return [
        f"- `{command}` at {commit}, {max(s.origin['date'] for s in shapes)}, "
        f"load {min(s.load for s in shapes):.1f} to {max(s.load for s in shapes):.1f}"
        for (command, commit), shapes in commands.items()
    ]


def _by_model(every: list[Place], ours: list[str]) -> str:
    head = ["model", "layers", "compared"]
    for name in ours:
        head += [f"{name}: mean", "least", "of a forward pass"]
    rows = [
        _row(model, [place for place in every if place[0] == model], ours, passes=True)
        for model in dict.fromkeys(model for model, *_ in every)
    ]
    once = list({layer.spec: (m, layer, s) for m, layer, s in every}.values())
    sorts = {
        "all products": [place for place in once if place[1].is_product],
        "all graphs": [place for place in once if not place[1].is_product],
        "all shapes": once,
    }
    rows += [_row(name, mine, ours, passes=False) for name, mine in sorts.items()]
    return table(head, rows)


def _row(name: str, mine: list[Place], ours: list[str], *, passes: bool) -> list[str]:
    """Some layers, and with ``passes`` what a forward pass takes with them."""
    cells = [name, str(len(mine))]
    cells.append(
        str(sum(s.ratio(ours[0]) is not None for *_, s in mine) if ours else 0)
    )
    for our in ours:
        compared = [(la, s) for _, la, s in mine if s.ratio(our) is not None]
        ratios = [ratio for _, s in compared if (ratio := s.ratio(our)) is not None]
        if not ratios:
            cells += ["-"] * 3
            continue
        cells += [f"{geometric_mean(ratios):.3f}", f"{min(ratios):.3f}"]
        seconds = sum(layer.times * s.best(our) for layer, s in compared)
        theirs = sum(layer.times * s.best(s.peer) for layer, s in compared)
        cells.append(f"{theirs / seconds:.3f}" if passes else "-")
    return cells


def _worst(every: list[Place], name: str) -> str:
    """The layers with the least ratios, each shape once."""
    by_spec: dict[str, Place] = {}
    for place in every:
        by_spec.setdefault(place[1].spec, place)
    ranked = sorted(
        (ratio, place)
        for place in by_spec.values()
        if (ratio := place[2].ratio(name)) is not None
    )
    rows = [
        [f"`{layer.spec}`", model, layer.name, shape.peer, f"{ratio:.3f}"]
        for ratio, (model, layer, shape) in ranked[:_WORST]
    ]
    return table(["Spec", "model", "layer", "fastest peer", "ratio"], rows)


def _all(every: list[Place], ours: list[str]) -> str:
    head = ["model", "layer", "Spec", "times", *ours, "fastest peer", "its best"]
    head += [f"ratio of {name}" for name in ours]
    return table(head, _rows(every, ours))


def _rows(every: list[Place], ours: list[str]) -> Iterator[list[str]]:
    for model, layer, shape in every:
        best = [
            time_text(shape.best(name)) if name in shape.samples else "-"
            for name in ours
        ]
        peer = shape.peer
        ratios = [
            "-" if (ratio := shape.ratio(name)) is None else f"{ratio:.3f}"
            for name in ours
        ]
        theirs = [peer, time_text(shape.best(peer))] if peer else ["-", "-"]
        head = [model, layer.name, f"`{layer.spec}`", str(layer.times)]
        yield [*head, *best, *theirs, *ratios]


def _failures(record: Record) -> str:
    reasons: dict[tuple[str, str], list[str]] = {}
    for shape in record.shapes.values():
        for name, why in shape.failed.items():
            key = name, why.replace(shape.spec, "it")
            reasons.setdefault(key, []).append(f"`{shape.spec}`")
    lines = [
        f"- {name}: {why} ({', '.join(specs) if len(specs) < 4 else len(specs)})"
        for (name, why), specs in reasons.items()
    ]
    return "\n".join(lines) or "Nothing."

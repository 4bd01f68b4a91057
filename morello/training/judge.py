"""What a model is worth on Specs that it has not seen: `cross_validated`, `judge`.

Specs are dealt into parts; the programs of each part are predicted by trees that were
trained on the others. Of each Spec there are the error of predicted times (APE), the
agreement of the order (Kendall's tau), and the regret: how many times as long as the
best program the one takes that is predicted to be the fastest, or the fastest of the
first four. Of graphs there is whether fusion is decided right: whether the best program
whose parts take turns is faster than the best that does one part after the other.
"""

import dataclasses
import random
from collections.abc import Iterator, Sequence

import numpy as np

from morello.learned.features import matrix
from morello.learned.trees import Vector
from morello.training.fit import Sample, Settings, train

FIRST = 4
"""How many of the first are timed where a stopwatch decides among them."""

CLEAR = 1.05
"""By how much times must differ for an order, or a decision, that counts."""

PARTS = 10


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What predictions are worth for one Spec."""

    spec: str
    error: float
    """The mean of |predicted / measured - 1|."""
    tau: float
    """Kendall's tau-b of the two orders; 0 where one has no order."""
    clear_tau: float | None
    """Kendall's tau of the pairs that differ by `CLEAR`; None if there are none."""
    first: float
    """The regret of the first."""
    best_of_four: float
    """The regret of the best of the first four."""
    fusion: bool | None
    """Whether fusion is decided right; None where it makes no clear difference."""


def cross_validated(
    samples: Sequence[Sample], settings: Settings, parts: int = PARTS
) -> list[Vector]:
    """The times that are predicted for the programs of each Spec, by trees that have
    seen no program of it.

    Raises:
        MorelloError: scikit-learn is not installed, or there are too few Specs.
    """
    order = list(range(len(samples)))
    random.Random(settings.seed).shuffle(order)
    found: list[Vector] = [np.zeros(0)] * len(samples)
    for part in range(parts):
        held_out = order[part::parts]
        rest = [samples[i] for i in order if i not in held_out]
        if not held_out:
            continue
        names, trees = train(rest, settings)
        for i in held_out:
            rows = matrix(samples[i].features, names)
            found[i] = samples[i].costs * np.exp(trees.predict(rows))
    return found


def judge(sample: Sample, predicted: Vector) -> Verdict:
    """What predicted times are worth."""
    times = sample.times
    order = np.argsort(predicted, kind="stable")
    tau, clear = _taus(predicted, times)
    return Verdict(
        sample.spec,
        float(np.mean(np.abs(predicted / times - 1))),
        tau,
        clear,
        float(times[order[0]] / times.min()),
        float(times[order[:FIRST]].min() / times.min()),
        _fusion(sample, predicted),
    )


def _taus(one: Vector, other: Vector) -> tuple[float, float | None]:
    """Kendall's tau-b, and that of pairs that clearly differ in ``other``."""
    a, b = np.triu_indices(len(one), 1)
    mine, theirs = np.sign(one[a] - one[b]), np.sign(other[a] - other[b])
    norm = np.sqrt(np.count_nonzero(mine) * np.count_nonzero(theirs))
    tau = float((mine * theirs).sum() / norm) if norm else 0.0
    clear = np.abs(np.log(other[a] / other[b])) > np.log(CLEAR)
    if not clear.any():
        return tau, None
    return tau, float((mine * theirs)[clear].mean())


def _fusion(sample: Sample, predicted: Vector) -> bool | None:
    """Whether the faster of the best fused and the best other program is the one that
    is predicted to be faster."""
    fused = np.array([one is True for one in sample.fused])
    others = np.array([one is False for one in sample.fused])
    if not fused.any() or not others.any():
        return None
    ratio = sample.times[fused].min() / sample.times[others].min()
    if abs(np.log(ratio)) <= np.log(CLEAR):
        return None
    return bool((predicted[fused].min() < predicted[others].min()) == (ratio < 1))


def table(models: dict[str, list[Verdict]]) -> str:
    """The verdicts on some models as Markdown: by sort of Spec, and together."""
    head = ["Specs", "model", "APE", "tau", "tau of clear pairs", "regret of the first"]
    head += [f"best of {FIRST}", "worst", "fusion right"]
    lines = [head, ["---"] * len(head)]
    for sort in ("products", "maps and reductions", "graphs", "all"):
        for name, verdicts in models.items():
            mine = [v for v in verdicts if sort in (sort_of(v.spec), "all")]
            if mine:
                lines.append([f"{sort} ({len(mine)})", name, *_cells(mine)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def sort_of(text: str) -> str:
    """What sort of Spec a text is."""
    label = text.split(":")[0]
    if label.startswith("matmul"):
        return "products"
    return "graphs" if label in _GRAPHS else "maps and reductions"


_GRAPHS = frozenset(
    {
        *("softmax", "log_softmax", "layer_norm", "rms_norm", "attention", "conv"),
        *("gelu_matmul", "residual_matmul", "chain", "compose"),
    }
)
"""Kinds and short names of graphs."""


def _cells(verdicts: Sequence[Verdict]) -> Iterator[str]:
    clear = [v.clear_tau for v in verdicts if v.clear_tau is not None]
    four = [v.best_of_four for v in verdicts]
    fusion = [v.fusion for v in verdicts if v.fusion is not None]
    yield f"{np.mean([v.error for v in verdicts]):.0%}"
    yield f"{np.mean([v.tau for v in verdicts]):.2f}"
    yield f"{np.mean(clear):.2f}" if clear else "-"
    yield f"{np.exp(np.mean(np.log([v.first for v in verdicts]))):.3f}"
    yield f"{np.exp(np.mean(np.log(four))):.3f}"
    yield f"{max(four):.2f}"
    yield f"{sum(fusion)} of {len(fusion)}" if fusion else "-"

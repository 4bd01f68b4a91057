"""Verdicts as Markdown: `table` by kind of Spec, and `fusions` by graph."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.training.judge import CLEAR, FIRST, Fusion, Verdict
from morello.spec.graphs.graph import canonical
from morello.spec.graphs.text import parse_graph

Models = Mapping[str, Sequence[Verdict]]
"""The verdicts on some models, by name: on the same Specs, in the same order."""

_LABELS = {
    "move": "moves",
    "softmax": "softmax",
    "log_softmax": "softmax",
    "layer_norm": "norms",
    "rms_norm": "norms",
    "attention": "attention",
    "chain": "chains",
    "conv": "convolutions",
    "gelu_matmul": "products with more",
    "residual_matmul": "products with more",
    **dict.fromkeys(("max", "min", "sum", "mean"), "reductions"),
}
"""The kinds of labels that say so."""


def sort_of(text: str) -> str:
    """Classify the text of a Spec."""
    label, _, rest = text.partition(":")
    if label.startswith("matmul"):
        dtypes = rest.split(":")[1]
        return f"products {'bf16' if 'bf16' in dtypes else dtypes.split(',')[0]}"
    if label != "compose":
        return _LABELS.get(label, "maps")
    graph = canonical(parse_graph(text.partition("graph=")[2].partition(":")[0])).graph
    if "+" in "".join(part.split("]")[0] for part in text.split("[")[1:]):
        return "convolutions"  # an index that is a sum: a window
    if len(graph.contractions) > 1:
        return "chains"
    return "products with more" if graph.contractions else "other graphs"


def table(models: Models) -> str:
    """By kind of Spec, and of all: errors, orders, regrets, decisions."""
    head = ["Specs", "model", "APE", "tau", "tau of clear pairs", "regret of the first"]
    head += [f"best of {FIRST}", "worst", "fusion right"]
    lines = [head, ["---"] * len(head)]
    every = next(iter(models.values()))
    sorts = sorted({sort_of(verdict.spec) for verdict in every})
    for sort in (*sorts, "all"):
        for name, verdicts in models.items():
            mine = [v for v in verdicts if sort in (sort_of(v.spec), "all")]
            lines.append([f"{sort} ({len(mine)})", name, *_cells(mine)])
    return _markdown(lines)


def _cells(verdicts: Sequence[Verdict]) -> Iterator[str]:
    clear = [v.clear_tau for v in verdicts if v.clear_tau is not None]
    four = [v.best_of_four for v in verdicts]
    yield f"{np.mean([v.error for v in verdicts]):.0%}"
    yield f"{np.mean([v.tau for v in verdicts]):.2f}"
    yield f"{np.mean(clear):.2f}" if clear else "-"
    yield f"{np.exp(np.mean(np.log([v.first for v in verdicts]))):.3f}"
    yield f"{np.exp(np.mean(np.log(four))):.3f}"
    yield f"{max(four):.2f}"
    yield _share(v.fusion for v in verdicts)


def _share(decisions: Iterator[Fusion | None]) -> str:
    """How many of the decisions that matter are right."""
    right = [one.is_right for one in decisions if one and one.is_right is not None]
    return f"{sum(right)} of {len(right)}" if right else "-"


def fusions(models: Models) -> str:
    """Graph by graph: what fusion gains, and who decides that it does."""
    every = next(iter(models.values()))
    lines = [["graph", "fused is faster by", *models], ["---"] * (2 + len(models))]
    for place, verdict in enumerate(every):
        if verdict.fusion is None:
            continue
        cells = [_words(verdicts[place].fusion) for verdicts in models.values()]
        lines.append([f"`{verdict.spec}`", f"{verdict.fusion.gain:.2f}", *cells])
    shares = [_share(v.fusion for v in verdicts) for verdicts in models.values()]
    lines.append([f"right where it makes {CLEAR - 1:.0%}", "", *shares])
    return _markdown(lines)


def _words(fusion: Fusion | None) -> str:
    if fusion is None:
        return "-"
    chosen = "fused" if fusion.is_fused else "apart"
    return chosen if fusion.is_right is not False else f"{chosen}: wrong"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

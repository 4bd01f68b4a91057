"""The results as JSON, Markdown and plots in a folder: `write`."""

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cost_model.measure import Sample
from benchmarks.cost_model.plot import plot
from benchmarks.cost_model.statistics import geometric_mean
from morello.whole_files import write_whole

NAME = "cost-model"


@dataclasses.dataclass(frozen=True)
class Origin:
    """Origin of results."""

    command: str
    commit: str
    machine: str
    date: str
    target: str
    load: float
    """The load of the machine when it began, processes a minute."""


def write(folder: Path, samples: Sequence[Sample], origin: Origin) -> Path:
    """Write all files; the Markdown is where to begin.

    Raises:
        OSError: the folder cannot be written to.
    """
    plots = folder / NAME
    plots.mkdir(parents=True, exist_ok=True)
    for sample in samples:
        write_whole(plots / f"{file_name(sample.spec)}.svg", plot(sample).encode())
    data = {
        **dataclasses.asdict(origin),
        "specs": [_entry(sample) for sample in samples],
    }
    text = json.dumps(data, indent=1) + "\n"
    write_whole(folder / f"{NAME}.json", text.encode())
    page = folder / f"{NAME}.md"
    write_whole(page, markdown(samples, origin).encode())
    return page


def file_name(spec: str) -> str:
    """A file's name for a Spec."""
    return re.sub(r"[^A-Za-z0-9]+", "_", spec).strip("_")


def markdown(samples: Sequence[Sample], origin: Origin) -> str:
    """A table of the Specs, and the figures of all together."""
    regrets = [sample.regret for sample in samples]
    rows = [_row(sample) for sample in samples]
    table = "\n".join(
        (
            "| Spec | programs | near | rank correlation | regret | median error | "
            "slowest / fastest | plot |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
        )
    )
    return f"""# How good the cost model is

Programs of each Spec, drawn from all over the space, priced and timed. Regret is the
time of the model's choice over the least time of the sample: the programs that seemed
fastest are timed again in turns with the choice, and the median of the rounds counts
in which nothing else ran on the core. The rank correlation is Spearman's, of predicted
and measured cycles. Near are the programs that take no more than 1.05 of the choice's
time: which of them is faster is mostly noise.

- command: `{origin.command}`
- target: `{origin.target}`
- commit {origin.commit}, {origin.date}, load {origin.load:.1f} at the start
- machine: {origin.machine}

{table}

Regret: geometric mean {geometric_mean(regrets):.3f}, worst {max(regrets):.3f}.
"""


def _row(sample: Sample) -> str:
    rank = sample.spearman
    spread = max(sample.measured) / min(sample.measured)
    name = file_name(sample.spec)
    return (
        f"| `{sample.spec}` | {len(sample.measured)} | {sample.near:.0%} | "
        f"{'undefined' if rank is None else f'{rank:.2f}'} | {sample.regret:.3f} | "
        f"{sample.median_error:.0%} | {spread:.1f} | [svg]({NAME}/{name}.svg) |"
    )


def _entry(sample: Sample) -> dict[str, object]:
    return {
        "spec": sample.spec,
        "programs": len(sample.measured),
        "near": round(sample.near, 3),
        "spearman": sample.spearman,
        "regret": sample.regret,
        "median_error": sample.median_error,
        "predicted_cycles": [round(v, 1) for v in sample.predicted],
        "measured_cycles": [round(v, 1) for v in sample.measured],
        "seconds": [float(f"{v:.4g}") for v in sample.seconds],
        "rounds": [[round(t.cycles, 1) for t in times] for times in sample.rounds],
        "undisturbed": [[t.is_good for t in times] for times in sample.rounds],
    }

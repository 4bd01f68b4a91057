"""Features of programs as a table: `python -m tests.learned.listing` writes it anew."""

import tempfile
from pathlib import Path

import morello
from morello.learned.features import features_of
from morello.learned.priced import Priced
from morello.machine import AVX2

FILE = Path(__file__).with_name("features.tsv")

GOALS = (
    "matmul:6x8x16:f32",
    "matmul:5x3x1024:f32:rhs=[0,2,1]",
    "sum:7x1030:f32",
    "softmax:3x20:f32",
)


def listing(db: Path) -> str:
    """The text of `FILE`: the best program of each goal, and that of another class."""
    rows = []
    for goal in GOALS:
        candidates = morello.candidates(goal, 4, target=AVX2, db=db)
        features = features_of(Priced([one.impl for one in candidates], AVX2))
        for name, value in features[0].items():
            other = features[-1].get(name, 0.0)
            rows.append(f"{goal}\t{name}\t{value:.5g}\t{other:.5g}")
        for name in features[-1].keys() - features[0].keys():
            rows.append(f"{goal}\t{name}\t0\t{features[-1][name]:.5g}")
    return "\n".join(sorted(rows)) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(listing(Path(folder, "searched.sqlite")))

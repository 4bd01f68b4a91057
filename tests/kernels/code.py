"""The code that kernels write, as a table of its ops: `python -m tests.kernels.code`.

A row has a kernel, a Spec, the ops by name with their number, and a checksum of the
text: a refactoring changes none, and prefetches, which no result shows, are seen.
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from morello.dialect import load
from morello.kernels import KERNELS
from morello.machine import AVX2
from morello.mlir import ir, walk
from morello.spec import print_spec
from tests.kernels.costs import outcome, points
from tests.kernels.harness import Case, build

FILE = Path(__file__).with_name("code.tsv")

TAKEN, TRIED, DRAWN = 3, 7, 500

COMMON = ("arith.constant", "func.func", "func.return", "builtin.module", "scf.yield")


def ops_of(module: ir.Module) -> str:
    """The ops of a module with their number, but for those of every function."""
    counts: Counter[str] = Counter()

    def visit(op: ir.Operation) -> ir.WalkResult:
        counts[op.name] += 1
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit)
    return " ".join(f"{n}={c}" for n, c in sorted(counts.items()) if n not in COMMON)


def rows_of(name: str) -> Iterator[str]:
    """Specs that a kernel takes, with different code."""
    specs = dict.fromkeys(spec for _, spec in points(name, DRAWN))
    taken = [spec for spec in specs if outcome(name, spec).isdigit()][:TRIED]
    by_ops: dict[str, str] = {}
    for spec in taken:
        module = build([Case(name, spec)])
        ops, text = ops_of(module), str(module)
        checksum = f"{zlib.crc32(text.encode()):x}"
        row = (name, print_spec(spec, AVX2.limits), ops, checksum)
        by_ops.setdefault(ops, "\t".join(row))
    yield from list(by_ops.values())[-TAKEN:]


def table() -> str:
    """The text of `FILE`."""
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        rows = [row for name in KERNELS for row in rows_of(name)]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    FILE.write_text(table())

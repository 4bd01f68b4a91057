"""What kernels say and write on many Specs, as a table of checksums.

A line of `code.tsv` has a kernel, a Spec, the ops of its code by name with their
number, a checksum of the code, one of what it counts, and one of costs, conditions and
forms at many sizes and limits. Code and counts make the digest that target files are
compared with (`tests/calibration/digests.py`). The Specs are the file's own: together
they reach all branches of the kernels. `python -m tests.kernels.code` writes the rest
anew, and draws Specs of kernels that have none; `python -m tests.kernels.code LINE`
shows what is behind a line, to compare.
"""

import contextlib
import dataclasses
import functools
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.cost.counts import Access
from morello.dialect import in_context
from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.machine import AVX2
from morello.mlir import ir, walk
from morello.spec import (
    L1,
    L2,
    MEM,
    VRF,
    Dtype,
    Layout,
    Limits,
    Spec,
    SpecKey,
    parse_spec,
    print_spec,
)
from morello.spec.frame import Frame
from morello.spec.kinds import instances
from tests.kernels.accepted import drawn
from tests.kernels.harness import Case, build, price

FILE = Path(__file__).with_name("code.tsv")

POINTS, DRAWN = 60, 2

SIZES = (*range(1, 10), 12, 13, 15, 16, 17, 24, 31, 32, 33, 64, 65, 512, 1024, 4096)

DTYPES = (Dtype.F32, Dtype.BF16, Dtype.S32, Dtype.S16, Dtype.S8, Dtype.U8)

LAYOUTS = (
    ("[0]", "[0,0p8]"),
    ("[0,1]", "[1,0]", "[0,1,1p16]", "[1,0,0p4]", "[0,1,1oe8]"),
    (
        "[0,1,2]",
        "[0,2,1]",
        "[0,2,1,2p16]",
        "[0,1,2,1p6]",
        "[0,1,2,2oe8]",
        "[0,2,1,1p2]",
    ),
    ("[0,1,2,3]",),
    ("[0,1,2,3,4]",),
)
"""By rank."""

KINDS = instances()

COMMON = ("arith.constant", "func.func", "func.return", "builtin.module", "scf.yield")


def ops_of(module: ir.Module) -> str:
    """The ops of a module with their number, but for those of every function."""
    counts: Counter[str] = Counter()

    def visit(op: ir.Operation) -> ir.WalkResult:
        counts[op.name] += 1
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit)
    return " ".join(f"{n}={c}" for n, c in sorted(counts.items()) if n not in COMMON)


def frame_of(name: str, spec: Spec) -> Frame:
    """The Spec, and others of its key whose sizes and limits are drawn."""
    rng = random.Random(name)
    sizes = [[size, *rng.choices(SIZES, k=POINTS)] for size in spec.sizes]
    free = [
        [int(limit), *rng.choices((int(limit), *range(33), 512), k=POINTS)]
        for limit in spec.limits.free
    ]
    values = [np.asarray(column, np.int64) for column in (*sizes, *free)]
    limits = Limits(spec.limits.memories, tuple(values[len(sizes) :]))
    return Frame(spec.key, tuple(values[: len(sizes)]), limits)


def beside(key: SpecKey) -> Iterator[SpecKey]:
    """Keys that differ from one in an operand's dtype, level, layout or gaps, or in the
    kind, legal or not."""
    ranks = [tensor.rank for tensor in key.tensors]
    for kind in KINDS:
        if [operand.rank for operand in kind.operands] == ranks:
            yield dataclasses.replace(key, kind=kind)
    for place, tensor in enumerate(key.tensors):
        layouts = map(Layout.parse, LAYOUTS[tensor.rank - 1])
        changes: list[dict[str, Any]] = [
            *({"dtype": dtype} for dtype in DTYPES),
            *({"level": level, "vector_width": 0} for level in (L1, L2, MEM)),
            *({"level": VRF, "vector_width": width} for width in (8, 16)),
            *({"layout": layout} for layout in layouts),
            {"contiguous": not tensor.contiguous},
        ]
        for change in changes:
            with contextlib.suppress(SpecError):
                changed = dataclasses.replace(tensor, **change)
                yield key.with_tensor(place, changed)


def taken(name: str, frame: Frame) -> npt.NDArray[np.bool_]:
    """The Specs for which all conditions of a kernel hold."""
    conditions = [np.asarray(c.holds, bool) for c in KERNELS[name].conditions(frame)]
    every = np.ones(POINTS + 1, bool)
    return functools.reduce(np.logical_and, conditions, every)


def counted(counts: Any, takes: npt.NDArray[np.bool_]) -> Any:
    """The counts of a kernel where its conditions hold, whatever that costs. What it
    does not count at all is left out."""
    if dataclasses.is_dataclass(counts):
        values = {f.name: getattr(counts, f.name) for f in dataclasses.fields(counts)}
        return {n: counted(v, takes) for n, v in values.items() if v is not None}
    if isinstance(counts, Mapping):
        return {name: counted(counts[name], takes) for name in sorted(counts)}
    if isinstance(counts, tuple):
        return [counted(one, takes) for one in counts]
    if isinstance(counts, Access):
        return counts.value
    return np.broadcast_to(counts, takes.shape)[takes].astype(int).tolist()


def said(name: str, spec: Spec) -> Iterator[str]:
    """The keys beside the Spec's that a kernel accepts, conditions, costs where they
    hold, and the forms that it asks for."""
    kernel, frame = KERNELS[name], frame_of(name, spec)
    takes = np.ones(POINTS + 1, bool)
    yield "".join(str(int(kernel.accepts(key))) for key in beside(spec.key))
    for condition in kernel.conditions(frame):
        holds = np.broadcast_to(np.asarray(condition.holds, bool), takes.shape)
        yield f"{condition.text}: {''.join(map(str, holds.astype(int)))}"
        takes = takes & holds
    costs = np.broadcast_to(price(kernel, frame), takes.shape)
    yield f"cost {costs[takes].tolist()}"
    for operand in range(len(spec.tensors)):
        yield f"asks for {' '.join(map(str, kernel.forms(spec.key, operand)))}"
    yield f"registers {kernel.register_operands(spec.key)}"
    yield f"levels {sorted(map(str, kernel.levels_needed(spec.key)))}"


def row(name: str, text: str) -> str:
    """A line of `FILE`."""
    spec = parse_spec(text, AVX2.limits)
    module = build([Case(name, spec)])
    frame = frame_of(name, spec)
    counts = counted(KERNELS[name].op_counts(frame), taken(name, frame))
    parts = (str(module), str(counts), "\n".join(said(name, spec)))
    sums = (f"{zlib.crc32(part.encode()):x}" for part in parts)
    return "\t".join((name, text, ops_of(module), *sums))


def listed() -> list[tuple[str, str]]:
    """The kernels and Specs of `FILE`."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return [(name, text) for name, text, *_ in rows if name in KERNELS]


def new() -> list[tuple[str, str]]:
    """Specs of the kernels that have none."""
    names = KERNELS.keys() - {name for name, _ in listed()}
    return [
        (name, print_spec(spec, AVX2.limits))
        for name in sorted(names)
        for spec in drawn(name)[:DRAWN]
    ]


def table() -> str:
    """The text of `FILE`."""
    with in_context():
        rows = [row(*one) for one in (*listed(), *new())]
    return "\n".join(rows) + "\n"


def show(name: str, text: str) -> None:
    """Print the code, and what the kernel says."""
    spec = parse_spec(text, AVX2.limits)
    with in_context():
        print(build([Case(name, spec)]), *said(name, spec), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        show(*listed()[int(sys.argv[1]) - 1])
    else:
        FILE.write_text(table())

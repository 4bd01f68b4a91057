"""Golden costs (C7): what the best programs of 250 Specs cost.

    python -m tests.search.golden            # search all and compare: two minutes
    python -m tests.search.golden --write    # after a change that is meant

``golden_costs.tsv`` has a line a Spec: its target, its text, and the cost of its best
program in millicycles. A commit that changes it says why. The file is the only place
where costs stand as numbers: what else the tests know of them are laws.
"""

import argparse
import dataclasses
import hashlib
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from morello.machine import find_target
from morello.search import Solver
from morello.search.storage.cache_key import GOLDEN_DIGEST
from morello.spec import parse_spec

FILE = Path(__file__).with_name("golden_costs.tsv")

REMEDY = (
    "if the model of costs, the space or a kernel was meant to change, run\n"
    "    python -m tests.search.golden --write\n"
    "and say in the commit why costs changed; if not, the search is wrong"
)

CHANGED = (
    "the costs have changed: in morello/search/storage/cache_key.py raise "
    'SEARCH_VERSION, and write GOLDEN_DIGEST = "{}"'
)

ONE, TWO = "avx2", "avx2{threads=2}"
WIDE, DOTS = "avx512", "avx512-vnni-bf16"

NEAR = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"


@dataclasses.dataclass(frozen=True, order=True)
class Goal:
    """A Spec and the target that it is searched for."""

    target: str
    spec: str

    @property
    def is_quick(self) -> bool:
        """Whether its search takes some tenths of a second at most."""
        return "matmul" not in self.spec


def goals() -> tuple[Goal, ...]:
    """The Specs; the same on every call."""
    every = [Goal(ONE, spec) for spec in (*_simple(), *_products(), *_graphs())]
    every += [Goal(TWO, f"{spec}:serial=false") for spec in _shared()]
    every += [Goal(WIDE, spec) for spec in (*_graphs(), *_wide())]
    every += [Goal(DOTS, spec) for spec in _dots()]
    return tuple(sorted(set(every)))


def _simple() -> Iterator[str]:
    """Fill, move and max: 144 of them."""
    for size in (1, 7, 8, 33, 256, 1000):
        yield f"fill:{size}:f32"
        yield f"fill:{size}x{size}:s32"
        yield f"fill:2x{size}x17:f32"
        yield f"max:{size}x1:f32"
        yield f"max:{size}x100:f32"
        yield f"max:3x{size}:s32"
        yield f"max_accum:{size}x65:f32"
        yield f"max_accum:5x{size}:f32:l1=64"
        yield f"move:{size}:f32"
        yield f"move:{size}x{size}:f32"
        yield f"move:{size}x{size}:f32:dst=[1,0]"
        yield f"move:{size}x12:f32:src=[1,0]"
        yield f"move:6x{size}:s32:l2=64"
        yield f"move:2x{size}x48:f32:dst=[0,2,1,2p16]"
        yield f"move:2x48x{size}:f32:src=[0,2,1]"
        yield f"move:{size}x9:f32:dst=[0,1]@L1"
    for size in (2, 3, 16, 31, 64, 100, 127, 512):
        yield f"fill:{size}x3x5:f32:vrf=4"
        yield f"max:{size}x{size}:f32"
        yield f"max:{size}x{size}:f32:x0=[1,0]"
        yield f"move:{size}x{size + 1}:f32:dst=[0,1]@L2"
        yield f"move:1x{size}x96:f32:dst=[0,1,2,1p6]"
        yield f"max_accum:{size}x8:s32"


def _products() -> Iterator[str]:
    """Matmuls, mostly small: 46 of them."""
    for sizes in ("1x1x1", "4x4x8", "6x16x16", "5x7x9", "12x8x32", "3x40x1"):
        yield f"matmul_accum:{sizes}:f32:l2=0:{NEAR}"
        yield f"matmul_accum:{sizes}:s32:l2=0:{NEAR}"
        yield f"matmul:{sizes}:f32:l2=0:{NEAR}"
        yield f"matmul_accum:{sizes}:f32:l1=64:l2=0:{NEAR}"
    for sizes in ("2x2x2", "8x8x8", "7x13x17", "16x16x16", "64x64x64", "100x37x53"):
        yield f"matmul:{sizes}:f32"
        yield f"matmul_accum:{sizes}:s32"
    for sizes in ("256x256x256", "300x200x100", "512x512x512", "1000x1000x1000"):
        yield f"matmul:{sizes}:f32"
    for sizes in ("1x512x512", "512x512x1", "2048x8x8", "5x32x20000"):
        yield f"matmul:{sizes}:f32"
    yield "matmul:32x32x32:f32:rhs=[0,2,1]"
    yield "matmul:3x20x20x20:f32"


def _shared() -> Iterator[str]:
    """For two threads: 10 of them."""
    for size in (64, 1000):
        yield f"fill:{size}x{size}:f32"
        yield f"max:{size}x{size}:f32"
        yield f"move:{size}x{size}:f32:dst=[1,0]"
    yield "move:4096:f32"
    yield "max:2x100000:f32"
    yield "matmul:64x64x64:f32"
    yield "matmul:256x256x256:f32"


def _graphs() -> Iterator[str]:
    """Graphs of several passes, with and without products: 16 of them."""
    yield from ("softmax:16x64:f32", "softmax:7x1000:f32", "log_softmax:5x33:f32")
    yield from ("layer_norm:16x128:f32", "rms_norm:4x3000:f32")
    yield from ("sum:7x1000:f32", "sum_accum:5x64:f32", "mean:7x9:f32")
    yield "compose:33x70:f32:graph=s[n]=sum(x[m,n]);y[m,n]=x-s[n]*0.01"
    yield "compose:9x100:f32:graph=y[m,n]=tanh(x[m,n])+exp(x)"
    yield from ("conv:1x2x6x6x8x3x3:f32", "conv:1x8x8x8x8x1x1:f32:l2=0")
    yield from ("attention:2x8x8x4x4:f32:l2=0", "chain:8x8x8x8:f32:l2=0")
    yield from ("gelu_matmul:8x16x16:f32:l2=0", "residual_matmul:6x8x16:f32:l2=0")


def _wide() -> Iterator[str]:
    """For vectors of 64 bytes: 10 of them."""
    for sizes in ("6x16x16", "5x7x9", "64x64x64", "100x37x53", "512x512x512"):
        yield f"matmul:{sizes}:f32"
    yield from ("matmul:77x512x1024:f32", "matmul:1x512x512:f32")
    yield from ("max:7x1000:f32", "move:100x100:f32:dst=[1,0]")
    yield "move:2x33x48:f32:dst=[0,2,1,2p32]"


def _dots() -> Iterator[str]:
    """For dot products of narrow numbers: 8 of them."""
    for sizes in ("5x7x9", "12x64x64", "1x512x512"):
        yield f"matmul:{sizes}:u8,s8,s32"
        yield f"matmul:{sizes}:bf16,bf16,f32"
    for sizes in ("12x64x64", "24x2048x64"):
        yield f"matmul:{sizes}:bf16,bf16,f32:flushing=true"


def search(some: Iterable[Goal]) -> Iterator[tuple[Goal, int]]:
    """The cost of the best program of each."""
    for goal in some:
        target = find_target(goal.target)
        spec = parse_spec(goal.spec, target.limits)
        yield goal, Solver(target.at(spec)).solve(spec).impl.cost


def read() -> dict[Goal, int]:
    """The golden costs."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return {Goal(target, spec): int(cost) for target, spec, cost in rows}


def digest() -> str:
    """Of the file."""
    return hashlib.blake2b(FILE.read_bytes(), digest_size=8).hexdigest()


def compare(some: Iterable[Goal]) -> list[str]:
    """What differs from the golden costs, a line a Spec."""
    golden = read()
    return [
        f"{goal.spec} on {goal.target}: golden {golden.get(goal)}, found {cost}"
        for goal, cost in search(some)
        if golden.get(goal) != cost
    ]


def main() -> int:
    """Run; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the file anew")
    start = time.process_time()
    if parser.parse_args().write:
        rows = [f"{g.target}\t{g.spec}\t{cost}\n" for g, cost in search(goals())]
        FILE.write_text("".join(rows))
        if digest() != GOLDEN_DIGEST:
            print(CHANGED.format(digest()))
        print(f"{FILE.name}: {len(rows)} Specs, {time.process_time() - start:.0f} s")
        return 0
    wrong = compare(goals())
    print("\n".join([*wrong, f"{len(wrong)} of {len(goals())} costs differ"]))
    if wrong:
        print(REMEDY)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

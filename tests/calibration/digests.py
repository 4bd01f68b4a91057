"""The digests that target files are compared with, from tables of tests.

A kernel's is a checksum of what `code.tsv` has of its code and its counts; that of the
cost model one of `terms.tsv`. `python -m tests.calibration.digests` writes them anew;
run it after the commands that write those tables.
"""

import zlib

from morello.machine.digests import COST_MODEL, FILE
from tests.cost import terms
from tests.kernels import code


def table() -> str:
    """The text of the file of digests."""
    sums: dict[str, list[str]] = {COST_MODEL: [terms.FILE.read_text()]}
    for line in code.FILE.read_text().splitlines():
        name, spec, _, *checksums, _ = line.split("\t")
        sums.setdefault(name, []).append(" ".join((spec, *checksums)))
    rows = {name: zlib.crc32("\n".join(parts).encode()) for name, parts in sums.items()}
    return "".join(f"{name}\t{digest:08x}\n" for name, digest in rows.items())


if __name__ == "__main__":
    FILE.write_text(table())

"""Machines: what the search and the code generator know of a machine.

`target.py` says what a target is, `morello.cost` what its costs are; `avx2.py` is
one; `text.py` lists them in `TARGETS` and gives them their text form, `file.py` reads
it from a file; `host.py` says what the machine at hand has.
"""

from morello.machine.target import Target
from morello.machine.targets.avx2 import AVX2
from morello.machine.text import TARGETS, find_target, parse_target, print_target

__all__ = ["AVX2", "TARGETS", "Target", "find_target", "parse_target", "print_target"]

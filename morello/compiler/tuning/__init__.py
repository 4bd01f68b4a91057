"""Choosing by measurement: candidates of different classes, compiled and timed.

Read `tuner.py`: `tune` finds the candidates of a goal, compiles and checks them, holds
a `contest.py` between them and keeps what was measured. What is kept is found again by
`morello/search/queries/measured.py`. `cuts.py` is for the programs of a range.
"""

from morello.compiler.tuning.measure import measure
from morello.compiler.tuning.tuner import Plan, Tuned, tune

__all__ = ["Plan", "Tuned", "measure", "tune"]

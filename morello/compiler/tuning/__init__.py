"""Choosing by measurement: candidates of different classes, compiled and timed.

Read `tuner.py`: `tune` finds the candidates of a goal, compiles and checks them, holds
a `contest.py` between them and keeps what was measured. What is kept is found again by
`morello/search/queries/measured.py`.
"""

from morello.compiler.tuning.tuner import Plan, Tuned, tune

__all__ = ["Plan", "Tuned", "tune"]

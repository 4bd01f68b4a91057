"""The search: the best program of a Spec, by dynamic programming over whole tables.

Read `solver.py` first, and `anytime.py`, how it is called; then `axes.py` (the
coordinates of a table), `table.py`, `sweep.py` (loops), and `impl.py` (a program as a
tree of decisions). Solved tables are kept by `shelf.py` as boxes (`packed.py`,
`compress.py`) and on disk (`layers.py`, `database.py`). `counting.py` says how many
programs there are. Nothing here knows of MLIR.
"""

from morello.search.alternatives import Alternative, Alternatives, Explorer, Place
from morello.search.anytime import Patience, best_program
from morello.search.impl import Branch, Impl
from morello.search.open_layouts import best_settled
from morello.search.solver import Solution, Solver
from morello.search.statistics import Statistics

__all__ = [
    "Alternative",
    "Alternatives",
    "Branch",
    "Explorer",
    "Impl",
    "Patience",
    "Place",
    "Solution",
    "Solver",
    "Statistics",
    "best_program",
    "best_settled",
]

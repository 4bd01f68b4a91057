"""The search: the best program of a Spec, by dynamic programming over whole tables.

- `dp/` solves tables: read `solver.py`, then `table_solver.py`, `axes.py` (the
  coordinates of a table) and `tiling.py` (loops).
- `storage/` keeps solved tables: `table_store.py` in memory, as boxes (`boxes.py`), and
  `database.py` on disk; `overlay.py` reads several databases.
- `queries/` asks the tables: `best_program.py` first; then alternatives, layout choice,
  partial programs, counts and pins.
- `impl.py` is a program, as a tree of decisions.

Nothing here knows of MLIR.
"""

from morello.search.dp.solver import Solution, Solver
from morello.search.impl import Branch, Impl
from morello.search.queries.alternatives import (
    Alternative,
    Alternatives,
    Explorer,
    Place,
)
from morello.search.queries.best_program import Patience, best_program
from morello.search.queries.layout_choice import best_settled
from morello.search.statistics import Statistics

__all__ = [
    "Alternative", "Alternatives", "Branch", "Explorer", "Impl", "Patience", "Place",
    "Solution", "Solver", "Statistics", "best_program", "best_settled",
]  # fmt: skip

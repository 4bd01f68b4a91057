"""Functions of elements: sequences of f32 operations, the same on every machine.

`table.py` has a row for each; `elementary.py`, `powers.py` and `angles.py` have their
sequences.
"""

from morello.spec.functions.elementary import exp
from morello.spec.functions.table import (
    BINARY,
    BYTE_WORDS,
    FUNCTIONS,
    INTEGER,
    ROWS,
    UNARY,
    ElementFunction,
)

__all__ = [
    "BINARY",
    "BYTE_WORDS",
    "FUNCTIONS",
    "INTEGER",
    "ROWS",
    "UNARY",
    "ElementFunction",
    "exp",
]

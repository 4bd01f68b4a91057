"""Explaining a program: the cost of each part, its tiles, and rejected alternatives.

Read `model.explain` first, then `tiles.py` (the tile of each operand in each memory),
`memory.py` (what memories hold) and `fusion.py` (what fusing a graph saves). `text.py`,
`page.py` and `data.py` show a model as text, as an HTML page and as JSON. Nothing here
knows of MLIR or decides anything.
"""

from morello.explain.data import as_data
from morello.explain.fusion import Unfused, unfused
from morello.explain.model import Explanation, Node, Request, explain
from morello.explain.page import as_page
from morello.explain.text import as_text

__all__ = [
    "Explanation", "Node", "Request", "Unfused", "as_data", "as_page", "as_text",
    "explain", "unfused",
]  # fmt: skip

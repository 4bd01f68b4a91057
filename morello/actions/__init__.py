"""Actions: the rewrites that the search and a schedule choose from.

Read `base.py` first. `ACTIONS`, in `candidates.py`, is the one list of them: an action
that is in it has an op in the ``morello_transform`` dialect and is tried by the search,
but `Range`, which puts programs of several sizes together.
"""

from morello.actions.base import (
    Action,
    Axes,
    Child,
    Expansion,
    Hole,
    LoopForm,
    Rewrite,
)
from morello.actions.candidates import ACTIONS, candidates
from morello.actions.copies.move import Move
from morello.actions.copies.pad import Pad
from morello.actions.copies.unfold import Unfold
from morello.actions.dims.collapse import Collapse
from morello.actions.dims.drop import Drop, may_drop
from morello.actions.dims.merge import Merge
from morello.actions.dims.squeeze import Squeeze
from morello.actions.graphs.cut import Cut
from morello.actions.graphs.cut_in_place import CutInPlace
from morello.actions.graphs.online import Online
from morello.actions.loops.border import Border
from morello.actions.loops.grid_parallel import GridParallel
from morello.actions.loops.peel import Peel
from morello.actions.loops.split import Split
from morello.actions.loops.split_parallel import SplitParallel
from morello.actions.loops.taps import Taps
from morello.actions.loops.tile import Tile, tiled_dims
from morello.actions.loops.tile_parallel import TileParallel
from morello.actions.select import Select
from morello.actions.sizes.over import SizesError
from morello.actions.sizes.range import Range
from morello.actions.specialize_range import SpecializeRange
from morello.actions.to_accum import ToAccum

__all__ = [
    "ACTIONS", "Action", "Axes", "Border", "Child", "Collapse", "Cut", "CutInPlace",
    "Drop", "Expansion", "GridParallel", "Hole", "LoopForm", "Merge", "Move", "Online",
    "Pad", "Peel", "Range", "Rewrite", "Select", "SizesError", "SpecializeRange",
    "Split", "SplitParallel", "Squeeze", "Taps", "Tile", "TileParallel", "ToAccum",
    "Unfold", "candidates", "may_drop", "tiled_dims",
]  # fmt: skip

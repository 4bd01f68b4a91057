"""Actions: the rewrites that the search and a schedule choose from.

Read `base.py` first. `ACTIONS`, in `candidates.py`, is the one list of them: an action
that is in it is tried by the search and has an op in the ``morello_transform`` dialect.
"""

from morello.actions.base import Action, Child, Expansion, Hole, Rewrite
from morello.actions.border import Border
from morello.actions.candidates import ACTIONS, candidates
from morello.actions.collapse import Collapse
from morello.actions.cut import Cut
from morello.actions.cut_in_place import CutInPlace
from morello.actions.drop import Drop
from morello.actions.grid_parallel import GridParallel
from morello.actions.merge import Merge
from morello.actions.move import Move
from morello.actions.online import Online
from morello.actions.pad import Pad
from morello.actions.peel import Peel
from morello.actions.select import Select
from morello.actions.specialize_range import SpecializeRange
from morello.actions.split import Split
from morello.actions.split_parallel import SplitParallel
from morello.actions.squeeze import Squeeze
from morello.actions.tile import Tile
from morello.actions.tile_parallel import TileParallel
from morello.actions.to_accum import ToAccum
from morello.actions.unfold import Unfold

__all__ = [
    "ACTIONS",
    "Action",
    "Border",
    "Child",
    "Collapse",
    "Cut",
    "CutInPlace",
    "Drop",
    "Expansion",
    "GridParallel",
    "Hole",
    "Merge",
    "Move",
    "Online",
    "Pad",
    "Peel",
    "Rewrite",
    "Select",
    "SpecializeRange",
    "Split",
    "SplitParallel",
    "Squeeze",
    "Tile",
    "TileParallel",
    "ToAccum",
    "Unfold",
    "candidates",
]

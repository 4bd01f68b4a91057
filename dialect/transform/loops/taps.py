"""``morello_transform.taps``: each tap of a filter on the rows that have it inside.

Before: a ``morello.compose`` op that adds to its output and reads through windows which
reach beyond an input.
After: a ``morello.compose`` op without padding for each tap, on views of the operands
(handles as those of ``morello_transform.border``).
"""

from morello.actions.loops.border import ROLES
from morello.actions.loops.taps import Taps
from morello.dialect.transform.action_op import op_of
from morello.dialect.transform.loops.border import apply_strips

op_of(Taps, *ROLES)(apply_strips)

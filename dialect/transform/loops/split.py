"""``morello_transform.split``: a loop over parts of a reduction, added one by one.

Before: a Spec op that accumulates. After: an ``scf.for`` with the Spec op of a part on
subviews of the inputs and the whole output (handle ``main``), and the Spec op of what
remains (handle ``remainder``).
"""

from morello.actions import Split
from morello.dialect.transform.action_op import op_of
from morello.dialect.transform.loops.tile import apply_tile

op_of(Split, "main", "remainder")(apply_tile)

"""What programs cost.

Read `model.py` first: the interface that actions ask. `counts.py` is what kernels tell
it, `affine.py` the one implementation, with `cache_conflicts.py`; `coefficients.py`
names the quantities that are measured, `operand_context.py` says what of a goal costs
depend on.
"""

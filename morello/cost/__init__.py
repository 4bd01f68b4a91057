"""Cost models: the predicted cost of programs.

Read `model.py` first: the interface that actions ask, by `of_target.py`. `counts.py` is
what kernels tell it, `affine.py` the one implementation, with `cache_conflicts.py`. The
quantities that are measured are the target's (`morello/machine/costs.py`), and so is
what of a goal costs depend on (`morello/machine/operand_context.py`).
"""

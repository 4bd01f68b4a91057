"""What programs cost: the coefficients of a machine, and the terms of the cost model.

`coefficients.py` names the quantities; `operand_context.py` says what of a goal costs
depend on; `transfer.py`, `strided_access.py` and `cache_conflicts.py` price what the
tiles of operands make memory do.
"""

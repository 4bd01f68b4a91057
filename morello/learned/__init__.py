"""The learned performance model: programs in, the order of their times out.

- `ledger.py`: programs as the decisions that they pay for; calibration reads it, too.
- `features.py`: what is read of a program, node by node.
- `trees.py`: regression trees, as JSON and evaluated by NumPy.
- `model.py`: the models that are shipped, and what they predict: read this first.

`morello.training` makes the models.
"""

"""The learned performance model: programs in, the order of their times out.

- `ledger.py`: programs as the decisions that they pay for; calibration reads it, too.
- `priced.py`: what the decisions of programs of one goal cost and count.
- `features.py`: what is read of a program as a whole; `trees.py`: regression trees that
  look at it, as JSON and evaluated by NumPy.
- `nodes.py`: what is read of each node; `network.py`: networks that look at these.
- `model.py`: the models that are shipped, and what they predict: read this first.

`benchmarks.training` makes the models.
"""

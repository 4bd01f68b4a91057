"""Making and judging the learned performance model: ``python -m benchmarks.training``.

- `specs.py`: the Specs whose programs are timed, of every kind; `fusions.py`: graphs
  whose parts may take turns.
- `collect.py`: finds, compiles, checks and times programs, those that are `distinct`;
  `data_set.py` keeps them.
- `fit.py`: trains randomised trees with scikit-learn; `networks.py`: networks, with
  PyTorch (the extra ``morello[learned]``).
- `judge.py`: what a model is worth on Specs that it has not seen; `report.py`: tables.

What is trained is evaluated by `morello.learned`, which needs NumPy alone.
"""

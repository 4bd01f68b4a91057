"""How good the cost model is: ``python -m benchmarks.cost_model --help``.

Programs of a Spec are drawn from all over the space (`morello.calibration.sample`),
priced and timed. `statistics.py` has what is reported of them, `report.py` and
`plot.py` how.
"""

"""Calibration: coefficients of the cost model from measured programs.

Read `calibrate.py` first. `draw.py` draws programs of Specs (`sample.py`) and times
them in cycles (`turns.py`, `timing.py`), `probes.py` times single instructions,
`reprice.py` says what programs cost under other coefficients and how the cost follows
each one, `fit.py` finds the coefficients that explain the measurements,
`target_file.py` writes them down.
"""

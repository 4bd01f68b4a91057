"""Calibration: coefficients of the cost model from measured programs.

Read `calibrate.py` first. `sample.py` draws programs of a Spec, `timing.py` measures
them in cycles, `reprice.py` says what they cost under other coefficients and how the
cost follows each one, `fit.py` finds the coefficients that explain the measurements,
`target_file.py` writes them down.
"""

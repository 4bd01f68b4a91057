"""Long runs of the checks of `tests.quality`, from one command.

``python -m tests.soak NAME --count N --seed S`` checks N cases, the first with seed S.
"""

"""Functions on arrays, written with NumPy's names, as graphs: what `morello.jit` is.

Read `tracer.py` first: a stand-in for an array that notes what is done with it. NumPy
comes to `calls.py`, which looks its functions up in the tables that `functions/` fills.
"""

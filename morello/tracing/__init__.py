"""Functions on arrays, written with NumPy's names, as graphs: what `morello.jit` is.

Read `tracer.py` first: a stand-in for an array that notes what is done with it.
"""

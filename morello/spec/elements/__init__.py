"""Elements of tensors: their dtypes, and operations on one element or on arrays.

Read `dtypes.py` first, then `operations.py`, which code generators implement;
`arrays.py` implements it in NumPy, and `casts.py` defines casts.
"""

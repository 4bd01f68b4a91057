"""Tensors: where operands lie in memory, and how.

Read `memories.py` first, then `layout.py`, `tensor.py` and `limits.py`; `form.py` is
the dtype and layout that a kernel asks for.
"""

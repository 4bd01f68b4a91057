"""GEMV: products of few rows or columns, bound by reading the large operand once.

Two templates, `axpy.py` and `dot.py`, over element rows: `elements.py`, `bytes.py`.
"""

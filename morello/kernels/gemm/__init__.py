"""GEMM: products of matrices of floats, whose sums stay in registers.

Read `tiles.py` first: one register tile. `loop.py` is its loop over k.
"""

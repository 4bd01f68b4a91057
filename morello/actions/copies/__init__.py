"""Rewrites that copy an operand to another memory, layout or dtype: read `move.py`."""

"""Loops over tiles of a dimension, serial and parallel: read `base.py`, `tile.py`."""

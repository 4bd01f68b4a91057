"""Specs with a size that each call says: the best program of every size, and few
programs for all: read `sizes.py`, then `cover.py`."""

"""Rewrites of a graph into parts, joined by temporaries: read `cut.py` first."""

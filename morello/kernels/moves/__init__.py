"""Moves that reorder elements: transposes, and interleaves of rows."""

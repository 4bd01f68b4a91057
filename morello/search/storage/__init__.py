"""Storage of solved tables: in memory, as boxes, and on disk."""

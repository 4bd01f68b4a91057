"""Where solved tables are kept: in memory, as boxes, and on disk."""

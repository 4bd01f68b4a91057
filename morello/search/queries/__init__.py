"""Questions to the solved tables: the best program, alternatives, counts, pins."""

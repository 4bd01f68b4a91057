"""Share of its core's peak that a program reaches if nothing else uses the core."""

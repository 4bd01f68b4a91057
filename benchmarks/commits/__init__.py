"""``python -m benchmarks.commits OLD NEW``: two commits of Morello, in turns."""

"""``python -m benchmarks.peers``: Morello beside the libraries that one would use."""

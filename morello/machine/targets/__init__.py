"""The targets: each a machine's registers, caches, costs and kernels."""

"""Kernels in JAX programs."""

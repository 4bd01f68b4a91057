"""Kernels in C and C++ programs."""

"""GEMM kernels: products of matrices of floats."""

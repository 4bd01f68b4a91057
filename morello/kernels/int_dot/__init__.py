"""GEMM by instructions that add the products of several elements to each lane."""

"""GEMV: products of few rows or columns, bound by reading the large operand once."""

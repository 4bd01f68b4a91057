"""Passes over tensors that several nodes write."""

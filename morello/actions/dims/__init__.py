"""Rewrites of dimensions that leave all elements where they are in memory."""

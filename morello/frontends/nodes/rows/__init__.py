"""Passes over sums and extremes of rows."""

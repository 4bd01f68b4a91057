"""Specs with a size that each call says, from the search to calls."""

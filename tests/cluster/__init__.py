"""Tests of searches on many machines."""

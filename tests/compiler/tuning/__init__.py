"""Tests of choosing by measurement."""

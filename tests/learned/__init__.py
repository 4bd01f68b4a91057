"""Tests of the learned performance model."""

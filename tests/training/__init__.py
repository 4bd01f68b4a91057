"""Tests of making and judging it."""

"""Tests of calls from Python."""

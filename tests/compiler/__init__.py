"""Tests of `morello.compile`: schedules, threads, packing, pins."""

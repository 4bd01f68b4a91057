"""Conformance suites of peers, run through Morello.

``python -m tests.conformance onnx|torch|jax|numpy`` runs one whole, each test in a
process of its own, and prints how many passed. ``docs/internals/conformance.md`` has
the rates.
"""

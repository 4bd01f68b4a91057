"""Tests of kernels in JAX programs."""

import pytest

pytest.importorskip(
    "jax", reason="jax is not installed: pip install -e '.[test-frameworks]'"
)

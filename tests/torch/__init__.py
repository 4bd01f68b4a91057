"""Tests of the backend for PyTorch."""

import pytest

pytest.importorskip(
    "torch", reason="torch is not installed: pip install -e '.[test-frameworks]'"
)

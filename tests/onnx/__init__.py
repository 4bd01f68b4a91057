"""Tests of models of ONNX."""

import pytest

pytest.importorskip(
    "onnx", reason="onnx is not installed: pip install -e '.[test-frameworks]'"
)

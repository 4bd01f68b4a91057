"""Weights as models store them: arrays of narrow integers, and their scales."""

from morello.weights.gguf import Gguf, read_gguf
from morello.weights.packed_words import from_awq, from_gptq, from_torch_int4
from morello.weights.scaled import ScaledWeights, bytes_spec, in_bytes

__all__ = [
    "Gguf", "ScaledWeights", "bytes_spec", "from_awq", "from_gptq", "from_torch_int4",
    "in_bytes", "read_gguf",
]  # fmt: skip

"""Weights as models store them: arrays of narrow integers, and their scales."""

from morello.weights.gguf import Gguf, read_gguf
from morello.weights.packed_words import from_awq, from_gptq
from morello.weights.scaled import ScaledWeights

__all__ = ["Gguf", "ScaledWeights", "from_awq", "from_gptq", "read_gguf"]

"""Specs: what to compute, on which tensors, within which limits.

Read `spec.py` first, then `kind.py` (what a kind of Spec defines), `tensors/` (how an
operand lies in memory), `elements/` (of which dtype), and `text/` (the text form).
`structure.py`, `mixes.py` and `checking.py` have what follows from a kind.
Nothing here knows of MLIR.
"""

from morello.spec.compose import Compose
from morello.spec.elements.dtypes import ELEMENT_TYPES, Dtype, Encoding
from morello.spec.fill import Fill
from morello.spec.index_map import IndexMap
from morello.spec.kind import Array, Kind, Reform
from morello.spec.matmul import Matmul
from morello.spec.move import Move
from morello.spec.operand import Operand
from morello.spec.size_range import SizeRange
from morello.spec.spec import Spec, SpecKey, argument_tensor
from morello.spec.tensors.form import Form
from morello.spec.tensors.layout import Layout, PhysicalDim
from morello.spec.tensors.limits import Limits
from morello.spec.tensors.memories import L1, L2, MEM, MEMORIES, VRF, Memory
from morello.spec.tensors.tensor import TensorSpec
from morello.spec.text.open_specs import OpenSpec, parse_open_spec, print_open_spec
from morello.spec.text.specs import parse_spec, print_spec

__all__ = [
    "ELEMENT_TYPES", "L1", "L2", "MEM", "MEMORIES", "VRF", "Array", "Compose", "Dtype",
    "Encoding", "Fill", "Form", "IndexMap", "Kind", "Layout", "Limits", "Matmul",
    "Memory", "Move", "OpenSpec", "Operand", "PhysicalDim", "Reform", "SizeRange",
    "Spec", "SpecKey", "TensorSpec", "argument_tensor", "parse_open_spec", "parse_spec",
    "print_open_spec", "print_spec",
]  # fmt: skip

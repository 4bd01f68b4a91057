"""Copies of tensors backwards along some axes, which no Spec reads: `reversal`."""

from functools import lru_cache

from morello.frontends.nodes.tensors import PlainCode
from morello.frontends.plain.lowering import PLAIN, lowered
from morello.frontends.refusals import OpError
from morello.mlir import ir

_REASON = "a Spec reads no tensor backwards"


@lru_cache(maxsize=256)
def reversal(shape: tuple[int, ...], axes: frozenset[int], place: str) -> PlainCode:
    """Code that copies a tensor of f32 with some axes the other way round."""
    dims = [f"d{i}" for i in range(len(shape))]
    read = [f"-{d} + {shape[i] - 1}" if i in axes else d for i, d in enumerate(dims)]
    kind = "x".join(map(str, (*shape, "f32")))
    own = ", ".join(dims)
    loops = ", ".join(['"parallel"'] * len(shape))
    text = f"""
    func.func @{PLAIN}(%x: tensor<{kind}>) -> tensor<{kind}> {{
      %empty = tensor.empty() : tensor<{kind}>
      %y = linalg.generic {{
        indexing_maps = [affine_map<({own}) -> ({", ".join(read)})>,
                         affine_map<({own}) -> ({own})>],
        iterator_types = [{loops}]
      }} ins(%x : tensor<{kind}>) outs(%empty : tensor<{kind}>) {{
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      }} -> tensor<{kind}>
      return %y : tensor<{kind}>
    }}
    """
    with ir.Context(), ir.Location.unknown():
        code = lowered(ir.Module.parse(text), OpError(_REASON, "turn an argument"))
    return PlainCode(code, "reversal", place, _REASON)

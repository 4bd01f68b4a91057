"""Programs of linalg that compute element by element."""


def elementwise(body: str, *arguments: str, result: str = "") -> str:
    """A function of the tensors ``%x`` and ``%y``.

    Args:
        body: computes ``%r`` from the elements ``%a`` and ``%b``.
        arguments: their types, as ``9xf32``.
        result: the type of the result; that of ``%x`` if it is left out.
    """
    kinds = [f"tensor<{kind}>" for kind in (*arguments, result or arguments[0])]
    elements = [kind.rpartition("x")[2].rstrip(">") for kind in kinds]
    *inputs, out = kinds
    takes = ", ".join(f"%{x}: {kind}" for x, kind in zip("xy", inputs, strict=False))
    read = ", ".join(f"%{x}" for x, _ in zip("xy", inputs, strict=False))
    inner = ", ".join(
        f"%{x}: {kind}"
        for x, kind in zip([*"ab"[: len(inputs)], "o"], elements, strict=True)
    )
    maps = ", ".join(["affine_map<(i) -> (i)>"] * len(kinds))
    return f"""func.func @f({takes}) -> {out} {{
  %e = tensor.empty() : {out}
  %z = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({read} : {", ".join(inputs)}) outs(%e : {out}) {{
    ^bb0({inner}):
      {body}
      linalg.yield %r : {elements[-1]}
  }} -> {out}
  return %z : {out}
}}"""

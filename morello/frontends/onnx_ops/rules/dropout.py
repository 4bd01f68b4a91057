"""`Dropout` that drops nothing, by a rule of `expanded`."""

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def dropout(to: Expansion, node: Arguments) -> Results:
    """Replaces a dropout that drops nothing by its input, and a mask of truth.

    Raises:
        CompileError: it may drop elements.
    """
    x, ratio, training = (node.input(place) for place in range(3))
    node.get("seed", 0)
    known = to.array(training) if training else np.array(False)
    share = to.array(ratio) if ratio else np.array(0.5)
    if known is None or (known.any() and (share is None or share.any())):
        raise CompileError(
            f"{node.name} (onnx.Dropout) drops elements by chance, as in training",
            "export the model for inference",
        )
    results = [to.op("Identity", x)]
    if any(node.outputs[1:]):
        results.append(to.constant(np.ones(to.shape(x), np.bool_)))
    return results


RULES = {"Dropout": dropout}

"""`Slice` with places that are within its tensor, by rules of `expanded`."""

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def within(to: Expansion, node: Arguments) -> Results:
    """A slice whose starts are elements, also where it goes backwards: torch-mlir takes
    a start beyond the end for an element more.

    Raises:
        CompileError: it may go backwards from a place that is known only in a call.
    """
    x = node.input(0)
    starts, ends, axes, steps = (to.array(node.input(i)) for i in range(1, 5))
    if not node.input(4):
        return None
    if steps is not None and (steps > 0).all():
        return None
    shape = to.shape_if_known(x)
    if shape is None or starts is None or ends is None or steps is None:
        raise CompileError(
            f"{node.name} (onnx.Slice) goes backwards from a place, or by a step, that "
            "is known only in a call",
            "make 'starts', 'ends' and 'steps' constants",
        )
    if node.input(3) and axes is None:
        return None
    if len(starts) == 1 and 0 <= starts[0] < shape[0 if axes is None else axes[0]]:
        return None
    for number, axis in enumerate(range(len(starts)) if axes is None else axes):
        size = shape[axis]
        span = slice(int(starts[number]), int(ends[number]), int(steps[number]))
        start, end, step = span.indices(size)
        if step < 0 and end < 0:
            end = -size - 1
        x = to.cut(x, start, end, step, int(axis))
    return [x]


RULES = {"Slice": within}

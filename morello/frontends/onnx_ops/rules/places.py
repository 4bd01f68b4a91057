"""Ops that pick, divide and join elements, as slices and lookups."""

from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def split(to: Expansion, node: Arguments) -> Results:
    """Slices, one for each part.

    Raises:
        CompileError: the sizes are known only in a call, and do not follow from those
            of the results.
    """
    x, count = node.input(0), len(node.outputs)
    shape = to.shape(x)
    axis, _ = node.get("axis", 0) % len(shape), node.get("num_outputs", count)
    sizes: Any = to.array(node.input(1)) if node.input(1) else node.get("split", None)
    if sizes is None and node.input(1):
        raise CompileError(
            f"{node.name} (onnx.Split) has parts of sizes that are known only "
            "in a call",
            f"make them a constant: constants={{'{node.input(1)}': …}}",
        )
    if sizes is None:
        whole = -(-shape[axis] // count)
        sizes = [whole] * (count - 1) + [shape[axis] - whole * (count - 1)]
    ends = np.cumsum(sizes)
    if len(sizes) != count or ends[-1] != shape[axis]:
        return None
    return [
        to.cut(x, int(end - size), int(end), axis=axis)
        for end, size in zip(ends, sizes, strict=True)
    ]


def check_within(node: Arguments, places: Any, size: int) -> None:
    """Check constant places along an axis, which may count from its end.

    Raises:
        CompileError: one is outside, where ONNX has no result.
    """
    outside = places[(places < -size) | (places >= size)]
    if outside.size:
        raise CompileError(
            f"{node.name} (onnx.{node.kind}) has the place {outside.flat[0]} of an "
            f"axis of {size} elements",
            f"correct the model: places are {-size} to {size - 1}",
        )


def picked(to: Expansion, node: Arguments) -> Results:
    """Slices at constant places, which are left as they are.

    Raises:
        CompileError: a place is outside.
    """
    shape, places = to.shape(node.input(0)), to.known(node.input(1))
    first = node.get("axis", 0) % len(shape)
    parts = [places]
    if node.kind == "GatherND":
        first, parts = node.get("batch_dims", 0), np.moveaxis(places, -1, 0)
    for axis, part in enumerate(parts, first):
        check_within(node, part, shape[axis])
    return None


def scattered(to: Expansion, node: Arguments) -> Results:
    """Elements or slices that replace others, or are added to them, at constant places:
    a lookup in both, or in sums of updates.

    Each place of the result takes the updates that go there, in order.

    Raises:
        CompileError: a place is outside.
    """
    data, updates = node.input(0), node.input(2)
    shape, places = to.shape(data), to.known(node.input(1))
    reduction = node.get("reduction", b"none").decode()
    if reduction not in _JOINED:
        return None
    if node.kind == "ScatterND":
        for axis, part in enumerate(np.moveaxis(places, -1, 0)):
            check_within(node, part, shape[axis])
        flat, inner = _nd_places(shape, places)
    else:
        axis = node.get("axis", 0) % len(shape)
        check_within(node, places, shape[axis])
        flat, inner = _element_places(shape, places, axis), 1
    count = int(np.prod(shape)) // inner
    rows = to.reshape(data, count, inner)
    parts = to.reshape(updates, flat.size, inner)
    for row in _rounds(flat, reduction):
        source = np.arange(count)
        if reduction == "none":
            source[flat[row]] = count + row
            both = to.op("Concat", rows, parts, axis=0)
            rows = to.op("Gather", both, to.constant(source), axis=0)
            continue
        joined = to.op(
            _JOINED[reduction],
            to.op("Gather", rows, to.constant(flat[row]), axis=0),
            to.op("Gather", parts, to.constant(row), axis=0),
        )
        source[flat[row]] = count + np.arange(row.size)
        both = to.op("Concat", rows, joined, axis=0)
        rows = to.op("Gather", both, to.constant(source), axis=0)
    return [to.reshape(rows, *shape)]


_JOINED = {"none": "", "add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
"""The op of what was there and an update, by the name of the reduction."""


def _rounds(flat: Any, reduction: str) -> list[Any]:
    """The updates in rounds, in each of which all go to different places."""
    if reduction == "none":  # the last one counts
        last = {int(place): number for number, place in enumerate(flat)}
        return [np.array(sorted(last.values()), np.int64)]
    seen: dict[int, int] = {}
    rounds: list[list[int]] = []
    for number, place in enumerate(flat):
        turn = seen.get(int(place), 0)
        seen[int(place)] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    return [np.array(row, np.int64) for row in rounds]


def _nd_places(shape: tuple[int, ...], places: Any) -> tuple[Any, int]:
    """The flat places of slices, and the elements of each."""
    depth = places.shape[-1]
    index = places.reshape(-1, depth)
    sizes = np.array(shape[:depth])
    index = np.where(index < 0, index + sizes, index)
    inner = int(np.prod(shape[depth:], dtype=np.int64))
    return np.ravel_multi_index(tuple(index.T), shape[:depth]), inner


def _element_places(shape: tuple[int, ...], places: Any, axis: int) -> Any:
    """The flat places of elements."""
    grid = np.indices(places.shape)
    grid[axis] = np.where(places < 0, places + shape[axis], places)
    return np.ravel_multi_index(tuple(grid), shape).reshape(-1)


def cached(to: Expansion, node: Arguments) -> Results:
    """Rows of a cache that are replaced at constant places."""
    x, updates = node.input(0), node.input(1)
    shape, new = to.shape(x), to.shape(updates)
    axis = node.get("axis", -2) % len(shape)
    first = np.zeros(shape[0], np.int64)
    if node.input(2):
        first = to.known(node.input(2))
    rows = first[:, None] + np.arange(new[axis])
    if node.get("mode", b"linear") == b"circular":
        rows = rows % shape[axis]
    along = [1] * len(new)
    along[0], along[axis] = rows.shape
    places = np.broadcast_to(rows.reshape(along), new)
    return [to.op("ScatterElements", x, to.constant(places), updates, axis=axis)]


def compressed(to: Expansion, node: Arguments) -> Results:
    """Rows, or elements, that a constant condition picks."""
    x, condition = node.input(0), to.known(node.input(1))
    axis = node.get("axis", None)
    if axis is None:
        x, axis = to.reshape(x, -1), 0
    return [to.op("Gather", x, to.constant(np.flatnonzero(condition)), axis=axis)]


_MOST_PLACES = 1 << 24
"""Places that f32 has each of."""


def place_of_extreme(to: Expansion, node: Arguments) -> Results:
    """The least place, or the greatest, of the elements that are the extreme along an
    axis, or NaN: two reductions, where torch-mlir has one of pairs."""
    x, axis = node.input(0), node.get("axis", 0)
    takes_last, stays = node.get("select_last_index", 0), node.get("keepdims", 1)
    shape = to.shape(x)
    if not shape or shape[axis] >= _MOST_PLACES:
        return None
    axis %= len(shape)
    along = [1] * len(shape)
    along[axis] = shape[axis]
    extreme = to.reduced(node.kind.replace("Arg", "Reduce"), x, [axis])
    is_extreme = to.op("Or", to.op("IsNaN", x), to.op("Equal", x, extreme))
    places = to.constant(np.arange(shape[axis], dtype=np.float32).reshape(along))
    other = to.number(-1 if takes_last else shape[axis])
    last_or_first = "ReduceMax" if takes_last else "ReduceMin"
    of_extremes = to.op("Where", is_extreme, places, other)
    place = to.reduced(last_or_first, of_extremes, [axis])
    if not stays:
        place = to.reshape(place, *shape[:axis], *shape[axis + 1 :])
    return [to.op("Cast", place, to=to.code(np.dtype(np.int64)))]


def greatest(to: Expansion, node: Arguments) -> Results:
    """The greatest or the least elements in order, where any would do."""
    if node.get("sorted", 1):
        return None
    inputs = [node.input(0), node.input(1)]
    attributes = node.attributes(without=("sorted",))
    return to.several("TopK", inputs, node.outputs, **attributes)


def unpooled(to: Expansion, node: Arguments) -> Results:
    """Elements at constant places of zeros."""
    x, y_shape = node.input(0), to.shape(node.output(0))
    places, _ = to.known(node.input(1)), node.input(2)
    shape = to.shape(x)
    sizes = [
        (size - 1) * step + window - low - high
        for size, step, window, low, high in zip(
            shape[2:],
            node.get("strides", [1] * (len(shape) - 2)),
            node.get("kernel_shape", []),
            *np.reshape(node.get("pads", [0] * 2 * (len(shape) - 2)), (2, -1)),
            strict=True,
        )
    ]
    # Places count in the result that the pool had, which may be smaller.
    index = np.unravel_index(places.reshape(-1), (*shape[:2], *sizes))
    flat = np.ravel_multi_index(index, y_shape)
    zero = to.number(0.0)
    both = to.op("Concat", to.reshape(x, -1), to.reshape(zero, 1), axis=0)
    source = np.full(int(np.prod(y_shape)), flat.size)
    source[flat] = np.arange(flat.size)
    picked = to.op("Gather", both, to.constant(source), axis=0)
    return [to.reshape(picked, *y_shape)]


def one_hot(to: Expansion, node: Arguments) -> Results:
    """Whether a place is each of a row of places, as one of two numbers."""
    places, depth = node.input(0), to.array(node.input(1))
    y_shape = to.shape(node.output(0))
    rank = len(y_shape)
    if not rank:
        return None
    axis = node.get("axis", -1) % rank
    count = y_shape[axis] if depth is None else int(depth.reshape(-1)[0])
    along = [1] * rank
    along[axis] = count
    numbers = to.constant(np.arange(count, dtype=np.float32).reshape(along))
    wide = to.op("Unsqueeze", to.op("Cast", places, to=1), to.numbers(axis))
    size = to.number(float(count))
    wrapped = to.op(
        "Where", to.op("Less", wide, to.number(0.0)), to.op("Add", wide, size), wide
    )
    off, on = (to.cut(node.input(2), n, n + 1, axis=0) for n in (0, 1))
    return [to.op("Where", to.op("Equal", wrapped, numbers), on, off)]


def backwards(to: Expansion, node: Arguments) -> Results:
    """The first elements of each sequence of a batch from the last to the first."""
    x, lengths = node.input(0), node.input(1)
    shape = to.shape(x)
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    along, across = ([1] * len(shape) for _ in range(2))
    along[time], across[batch] = shape[time], shape[batch]
    steps = to.constant(np.arange(shape[time]).reshape(along))
    lengths = to.reshape(lengths, *across)
    last = to.op("Sub", lengths, to.numbers(1))
    turned = to.op("Sub", last, steps)
    places = to.op("Where", to.op("Less", steps, lengths), turned, steps)
    wide = to.op("Expand", places, to.numbers(*shape))
    return [to.op("GatherElements", x, wide, axis=time)]


RULES = {
    "ArgMax": place_of_extreme,
    "ArgMin": place_of_extreme,
    "Compress": compressed,
    "Gather": picked,
    "GatherND": picked,
    "MaxUnpool": unpooled,
    "OneHot": one_hot,
    "ReverseSequence": backwards,
    "Scatter": scattered,
    "ScatterElements": scattered,
    "ScatterND": scattered,
    "Split": split,
    "TensorScatter": cached,
    "TopK": greatest,
}

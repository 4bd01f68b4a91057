"""Ops that pick, divide and join elements, as slices and lookups."""

from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def split(to: Expansion, own: Arguments) -> Results:
    """Slices, one for each part.

    Raises:
        CompileError: the sizes are known only in a call, and do not follow from those
            of the results.
    """
    x, count = own.input(0), len(own.outputs)
    shape = to.shape(x)
    if shape is None:
        return None
    axis, _ = own.get("axis", 0) % len(shape), own.get("num_outputs", count)
    sizes: Any = to.array(own.input(1)) if own.input(1) else own.get("split", None)
    if sizes is None and own.input(1):
        raise CompileError(
            f"{own.name} (onnx.Split) has parts of sizes that are known only in a call",
            f"make them a constant: constants={{'{own.input(1)}': …}}",
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


def check_within(own: Arguments, places: Any, size: int) -> None:
    """Check constant places along an axis, which may count from its end.

    Raises:
        CompileError: one is outside, where ONNX has no result.
    """
    outside = places[(places < -size) | (places >= size)]
    if outside.size:
        raise CompileError(
            f"{own.name} (onnx.{own.kind}) has the place {outside.flat[0]} of an axis "
            f"of {size} elements",
            f"correct the model: places are {-size} to {size - 1}",
        )


def picked(to: Expansion, own: Arguments) -> Results:
    """Slices at constant places, which are left as they are.

    Raises:
        CompileError: a place is outside.
    """
    shape, places = to.shape(own.input(0)), to.array(own.input(1))
    if shape is None or places is None:
        return None
    first = own.get("axis", 0) % len(shape)
    parts = [places]
    if own.kind == "GatherND":
        first, parts = own.get("batch_dims", 0), np.moveaxis(places, -1, 0)
    for axis, part in enumerate(parts, first):
        check_within(own, part, shape[axis])
    return None


def scattered(to: Expansion, own: Arguments) -> Results:
    """Elements or slices that replace others, or are added to them, at constant places:
    a lookup in both, or in sums of updates.

    Each place of the result takes the updates that go there, in order.

    Raises:
        CompileError: a place is outside.
    """
    data, updates = own.input(0), own.input(2)
    shape, places = to.shape(data), to.array(own.input(1))
    reduction = own.get("reduction", b"none").decode()
    if shape is None or places is None or reduction not in _JOINED:
        return None
    if own.kind == "ScatterND":
        for axis, part in enumerate(np.moveaxis(places, -1, 0)):
            check_within(own, part, shape[axis])
        flat, inner = _nd_places(shape, places)
    else:
        axis = own.get("axis", 0) % len(shape)
        check_within(own, places, shape[axis])
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
    """The updates, divided so that no two of one round go to one place."""
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


def cached(to: Expansion, own: Arguments) -> Results:
    """Rows of a cache that are replaced at constant places."""
    x, updates = own.input(0), own.input(1)
    shape, new = to.shape(x), to.shape(updates)
    starts = to.array(own.input(2)) if own.input(2) else None
    if shape is None or new is None or (own.input(2) and starts is None):
        return None
    axis = own.get("axis", -2) % len(shape)
    first = np.zeros(shape[0], np.int64) if starts is None else starts
    rows = first[:, None] + np.arange(new[axis])
    if own.get("mode", b"linear") == b"circular":
        rows = rows % shape[axis]
    along = [1] * len(new)
    along[0], along[axis] = rows.shape
    places = np.broadcast_to(rows.reshape(along), new)
    return [to.op("ScatterElements", x, to.constant(places), updates, axis=axis)]


def compressed(to: Expansion, own: Arguments) -> Results:
    """Rows, or elements, that a constant condition picks."""
    x, condition = own.input(0), to.array(own.input(1))
    if condition is None:
        return None
    axis = own.get("axis", None)
    if axis is None:
        x, axis = to.reshape(x, -1), 0
    return [to.op("Gather", x, to.constant(np.flatnonzero(condition)), axis=axis)]


def greatest(to: Expansion, own: Arguments) -> Results:
    """The greatest or the least elements in order, where any would do."""
    if own.get("sorted", 1):
        return None
    inputs = [own.input(0), own.input(1)]
    attributes = own.attributes(without=("sorted",))
    return to.several("TopK", inputs, own.outputs, **attributes)


def unpooled(to: Expansion, own: Arguments) -> Results:
    """Elements at constant places of zeros."""
    x, made = own.input(0), to.shape(own.output(0))
    places, _ = to.array(own.input(1)), own.input(2)
    shape = to.shape(x)
    if made is None or places is None or shape is None:
        return None
    sizes = [
        (size - 1) * step + window - low - high
        for size, step, window, low, high in zip(
            shape[2:],
            own.get("strides", [1] * (len(shape) - 2)),
            own.get("kernel_shape", []),
            *np.reshape(own.get("pads", [0] * 2 * (len(shape) - 2)), (2, -1)),
            strict=True,
        )
    ]
    # Places count in the result that the pool had, which may be smaller.
    index = np.unravel_index(places.reshape(-1), (*shape[:2], *sizes))
    flat = np.ravel_multi_index(index, made)
    zero = to.number(0.0)
    both = to.op("Concat", to.reshape(x, -1), to.reshape(zero, 1), axis=0)
    source = np.full(int(np.prod(made)), flat.size)
    source[flat] = np.arange(flat.size)
    picked = to.op("Gather", both, to.constant(source), axis=0)
    return [to.reshape(picked, *made)]


def one_hot(to: Expansion, own: Arguments) -> Results:
    """Whether a place is each of a row of places, as one of two numbers."""
    places, depth = own.input(0), to.array(own.input(1))
    made = to.shape(own.output(0))
    if depth is None and made is None:
        return None
    rank = len(made) if made is not None else 0
    if not rank:
        return None
    axis = own.get("axis", -1) % rank
    count = int(depth.reshape(-1)[0]) if depth is not None else made[axis]  # type: ignore[index]
    along = [1] * rank
    along[axis] = count
    numbers = to.constant(np.arange(count, dtype=np.float32).reshape(along))
    wide = to.op("Unsqueeze", to.op("Cast", places, to=1), to.numbers(axis))
    size = to.number(float(count))
    wrapped = to.op(
        "Where", to.op("Less", wide, to.number(0.0)), to.op("Add", wide, size), wide
    )
    off, on = (to.cut(own.input(2), n, n + 1, axis=0) for n in (0, 1))
    return [to.op("Where", to.op("Equal", wrapped, numbers), on, off)]


def backwards(to: Expansion, own: Arguments) -> Results:
    """The first elements of each sequence of a batch from the last to the first."""
    x, lengths = own.input(0), own.input(1)
    shape = to.shape(x)
    if shape is None:
        return None
    time, batch = own.get("time_axis", 0), own.get("batch_axis", 1)
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

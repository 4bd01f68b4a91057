"""Sums of products: `np.einsum`, and what can be written as one."""

import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.spec.graphs.expression import Call, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.tracing.functions.elementwise import recording_of
from morello.tracing.nodes import aligned, node
from morello.tracing.numbers import BOOL, computed_in
from morello.tracing.operands import traced
from morello.tracing.recording import Recording
from morello.tracing.refusals import refusal
from morello.tracing.slicing import is_integer, ordered_axes
from morello.tracing.tracer import Tracer

Letters = str
"""A label for each axis."""


def einsum(subscripts: str, *operands: Any, optimize: Any = True) -> Tracer:
    """Einstein summation of any number of arrays, two at a time (`numpy.einsum`)."""
    if not isinstance(subscripts, str):
        raise refusal("einsum of lists of numbers is not traced", "write letters")
    recording = recording_of(*operands)
    arrays = [_array(recording, one) for one in operands]
    terms, wanted = _read(subscripts, arrays)
    for term, array in zip(terms, arrays, strict=True):
        if len(term) != array.ndim:
            raise refusal(
                f"einsum('{subscripts}'): '{term}' for an array of {array.shape}"
            )
    pairs = [_without_diagonals(*pair) for pair in zip(terms, arrays, strict=True)]
    lacking = {*wanted} - {*"".join(terms)}
    if lacking or len({*wanted}) < len(wanted):
        raise refusal(
            f"einsum('{subscripts}'): the result has a letter of no array, or one twice"
        )
    return _contracted(recording, subscripts, pairs, wanted)


def _without_diagonals(term: Letters, array: Any) -> tuple[Letters, Tracer]:
    """An array with each letter once: a letter that stands twice is a diagonal."""
    for letter in term:
        while term.count(letter) > 1:
            places = [i for i, c in enumerate(term) if c == letter][:2]
            array = np.diagonal(array, 0, *places)
            rest = "".join(c for i, c in enumerate(term) if i not in places)
            term = rest + letter
    return term, array


def _read(text: str, arrays: list[Tracer]) -> tuple[list[Letters], Letters]:
    """The letters of each array and of the result, with letters for `...`."""
    left, arrow, wanted = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise refusal(f"einsum('{text}') of {len(arrays)} arrays")
    free = [c for c in string.ascii_letters if c not in text]
    ranks = [
        a.ndim - len(t.replace("...", ""))
        for t, a in zip(terms, arrays, strict=True)
        if "..." in t
    ]
    most = max(ranks, default=0)
    if min(ranks, default=0) < 0 or most > len(free):
        raise refusal(f"einsum('{text}'): '...' stands for no axes")
    batch = "".join(free[:most])

    def filled(term: str, rank: int) -> str:
        dims = rank - len(term.replace("...", ""))
        return term.replace("...", batch[most - dims :] if dims else "")

    letters = [filled(t, a.ndim) for t, a in zip(terms, arrays, strict=True)]
    if not arrow:
        every = left.replace(",", "").replace(".", "")
        once = sorted(c for c in {*every} if every.count(c) == 1)
        wanted = ("..." if ranks else "") + "".join(once)
    wanted = wanted.replace("...", batch)
    if not all(term.isalpha() or not term for term in (*letters, wanted)):
        raise refusal(
            f"einsum('{text}') is not traced", "write letters, and -> with the result"
        )
    return letters, wanted


def _contracted(
    recording: Recording,
    text: str,
    factors: list[tuple[Letters, Tracer]],
    wanted: Letters,
) -> Tracer:
    """Two arrays at a time, in NumPy's order; letters of one array are summed first."""
    order = [tuple(range(len(factors)))]
    if len(factors) > 2:
        plain = [np.broadcast_to(np.float32(0), a.shape) for _, a in factors]
        written = f"{','.join(term for term, _ in factors)}->{wanted}"
        order = np.einsum_path(written, *plain, optimize="greedy")[0][1:]
    rest = list(factors)
    is_any = all(array.dtype == BOOL for _, array in factors)
    for places in order:
        pair = [rest[place] for place in places]
        rest = [one for place, one in enumerate(rest) if place not in places]
        needed = wanted if not rest else {*wanted}.union(*(term for term, _ in rest))
        term = (
            wanted
            if not rest
            else "".join(
                c for c in dict.fromkeys("".join(t for t, _ in pair)) if c in needed
            )
        )
        pair = [_reduced(t, a, pair, needed, is_any) for t, a in pair]
        rest.append((term, _product(recording, text, pair, term, is_any)))
    return rest[0][1]


def _reduced(
    term: Letters,
    array: Tracer,
    pair: Sequence[tuple[Letters, Tracer]],
    needed: Any,
    is_any: bool,
) -> tuple[Letters, Tracer]:
    """An array without the letters that no other array and no result has."""
    count = {c: sum(c in other for other, _ in pair) for c in term}
    alone = [i for i, c in enumerate(term) if count[c] == 1 and c not in needed]
    if len(pair) < 2 or not alone:
        return term, array
    left = "".join(c for i, c in enumerate(term) if i not in alone)
    return left, (np.any if is_any else np.sum)(array, tuple(alone))


def _product(
    recording: Recording,
    text: str,
    factors: list[tuple[Letters, Tracer]],
    wanted: Letters,
    is_any: bool,
) -> Tracer:
    """A product of one array or two, summed; of truth values, which are all of them,
    whether one is true."""
    arrays = [array for _, array in factors]
    terms = "".join(term for term, _ in factors)
    gone = [c for c in dict.fromkeys(terms) if c not in wanted]
    place = {letter: i for i, letter in enumerate([*wanted, *gone])}
    labels = [[place[letter] for letter in term] for term, _ in factors]
    reads, extents = aligned(arrays, labels, f"einsum('{text}')")
    shape = tuple(extents[place[letter]] for letter in wanted)
    lost = tuple(extents[place[letter]] for letter in gone)
    expression: Expression = Reference(0)
    for number in range(1, len(reads)):
        expression = Call("mul", (expression, Reference(number)))
    is_sum = math.prod(lost) > 1
    if not is_sum and len(reads) == 1:
        return Tracer(recording, reads[0], shape, dtype=arrays[0].dtype)
    dtype = computed_in("mul", arrays)
    reduction = ("max" if is_any else "sum") if is_sum else MAP
    result = node(recording, shape, reduction, expression, reads, lost, dtype)
    if is_any:
        result.dtype = BOOL
    return result


def _array(recording: Recording, operand: Any) -> Tracer:
    tracer = traced(recording, operand)
    if tracer is None:
        raise refusal("a number stands where an array should", "multiply by it")
    return tracer


def matmul(a: Any, b: Any) -> Tracer:
    """Matrix product of the last two axes; others are broadcast (`numpy.matmul`)."""
    recording = recording_of(a, b)
    left, right = _array(recording, a), _array(recording, b)
    if not left.ndim or not right.ndim:
        raise refusal("a matrix product of an array without axes", "multiply by it")
    inner = left.shape[-1], right.shape[max(right.ndim - 2, 0)]
    if inner[0] != inner[1]:
        raise refusal(
            f"the shapes {left.shape} and {right.shape} do not broadcast in matmul: "
            f"{inner[0]} columns by {inner[1]} rows"
        )
    rows, columns = "i" * (left.ndim > 1), "j" * (right.ndim > 1)
    return einsum(
        f"{'...' * (left.ndim > 2)}{rows}k,{'...' * (right.ndim > 2)}k{columns}"
        f"->{'...' * (max(left.ndim, right.ndim) > 2)}{rows}{columns}",
        left,
        right,
    )


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tracer:
    """Tensor product summed over pairs of axes (`numpy.tensordot`)."""
    recording = recording_of(a, b)
    left, right = _array(recording, a), _array(recording, b)
    if is_integer(axes):
        pairs = [(left.ndim - axes + i, i) for i in range(axes)]
    else:
        one, other = map(ordered_axes, (left.ndim, right.ndim), axes)
        pairs = [*zip(one, other, strict=True)]
    letters = iter(string.ascii_letters)
    first = [next(letters) for _ in range(left.ndim)]
    second = [next(letters) for _ in range(right.ndim)]
    for i, j in pairs:
        if not 0 <= i < left.ndim or left.shape[i] != right.shape[j]:
            raise refusal(f"tensordot of {left.shape} and {right.shape} along {axes}")
        second[j] = first[i]
    gone = {first[i] for i, _ in pairs}
    wanted = [c for c in (*first, *second) if c not in gone]
    return einsum(f"{''.join(first)},{''.join(second)}->{''.join(wanted)}", left, right)


def dot(a: Any, b: Any) -> Tracer:
    """Dot product over the last axis of a and the last but one of b (`numpy.dot`)."""
    recording = recording_of(a, b)
    left, right = traced(recording, a), traced(recording, b)
    if left is None or right is None or not left.ndim or not right.ndim:
        return a * b  # type: ignore[no-any-return]
    if right.ndim <= 2:
        return matmul(left, right)
    return tensordot(left, right, ([left.ndim - 1], [right.ndim - 2]))


def inner(a: Any, b: Any) -> Tracer:
    """Inner product over the last axes (`numpy.inner`)."""
    recording = recording_of(a, b)
    left, right = _array(recording, a), _array(recording, b)
    return tensordot(left, right, ([left.ndim - 1], [right.ndim - 1]))


def outer(a: Any, b: Any, flat: bool = True) -> Tracer:
    """Outer product: a matrix (`numpy.outer`), or, unless ``flat``, an array with all
    axes of both (`numpy.multiply.outer`)."""
    recording = recording_of(a, b)
    left, right = _array(recording, a), _array(recording, b)
    if flat:
        left, right = left.reshape(-1), right.reshape(-1)
    return left[(..., *[None] * right.ndim)] * right  # type: ignore[no-any-return]

"""Runs programs between guard pages, and compares all bits.

One run of a program on one side of its pages shows that: the output has the bits of the
definition; no byte outside of an argument or the workspace is touched, since each ends
(or starts) at a page that cannot be; inputs, on read-only pages, are not written; bytes
round the arrays, and in the padding of packs, stay. A second run starts from other
contents of output, workspace and padding, and must give the same bits.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.compiler.tuning.verify import judge
from morello.spec import Spec
from morello.spec.checking import is_exact, reference
from morello.spec.kind import Array
from tests.guarded import Side, check_canaries, check_in_child, guarded_array
from tests.kernels.harness import bits
from tests.quality.programs import Program

Check = Callable[[Program, np.random.Generator], None]

RUNS: tuple[tuple[Side, int], ...] = (("end", 0xFF), ("start", 0x7F))
"""Where the forbidden page is, and the byte that fills what must not be read: NaN and
-1, then a large number and 0x7F7F7F7F."""


def poisoned(shape: tuple[int, ...], dtype: np.dtype[Any], byte: int) -> Array:
    """An array of which every byte is ``byte``."""
    count = int(np.prod(shape)) * dtype.itemsize
    return np.full(count, byte, np.uint8).view(dtype).reshape(shape)


def physical(spec: Spec, operand: int, logical: Array | None, byte: int) -> Array:
    """An argument: what it does not hold of ``logical`` is poison."""
    tensor, sizes = spec.tensors[operand], spec.shape(operand)
    array = poisoned(tensor.layout.physical_shape(sizes), tensor.dtype.numpy, byte)
    if logical is not None:
        indices = np.indices(sizes, sparse=True)
        array[tensor.layout.index_map(tuple(indices))] = logical
    return array


def place(spec: Spec, inputs: Sequence[Array], side: Side, byte: int) -> list[Array]:
    """The arguments on pages of their own; ``inputs`` are what the Spec reads."""
    remaining, placed = list(inputs), []
    for index, operand in enumerate(spec.kind.operands):
        logical = remaining.pop(0) if operand.is_read else None
        array = physical(spec, index, logical, byte)
        leading = spec.leading[index] if spec.leading else 0
        gap = leading - array.shape[-1] if leading else 0
        placed.append(guarded_array(array, side, operand.is_written, gap, operand.name))
    return placed


def call(program: Program, placed: Sequence[Array]) -> None:
    """Run the machine code on arrays in place."""
    pointers = [array.ctypes.data for array in placed]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(program.address)(
        *pointers
    )


def run(
    program: Program, inputs: Sequence[Array], side: Side, byte: int
) -> tuple[Array, ...]:
    """The outputs in logical order, after a run in which nothing else was touched."""
    spec = program.spec
    placed = place(spec, inputs, side, byte)
    before = [np.array(placed[index]) for index in spec.kind.written]
    work = poisoned((program.workspace_bytes,), np.dtype(np.uint8), byte)
    room = [guarded_array(work, side, name="workspace")] if work.size else []
    call(program, [*placed, *room])
    for array in (*placed, *room):
        check_canaries(array)
    for index, old in zip(spec.kind.written, before, strict=True):
        _check_padding(spec, index, old, placed[index])
    return tuple(spec.to_logical(index, placed[index]) for index in spec.kind.written)


def _check_padding(spec: Spec, operand: int, before: Array, after: Array) -> None:
    """What is left when the elements are put back is the padding: it is as before."""
    sizes = spec.shape(operand)
    index = spec.tensors[operand].layout.index_map(
        tuple(np.indices(sizes, sparse=True))
    )
    restored = np.array(after)
    restored[index] = before[index]
    if not np.array_equal(bits(before), bits(restored)):
        name = spec.kind.operands[operand].name
        raise AssertionError(f"the padding of '{name}' was written")


def check_exact(program: Program, inputs: Sequence[Array]) -> None:
    """The bits of the definition, whatever lay around and before; of what rounds,
    numbers within the bound.

    Raises:
        AssertionError: says what differs, and how to make the program again.
    """
    spec = program.spec
    wanted = spec.outputs(*inputs)
    for side, byte in RUNS:
        results = run(program, inputs, side, byte)
        if not is_exact(spec.kind, spec.sizes):
            verdict = judge(spec, tuple(inputs), results, exact=False)
            assert verdict.holds, f"{verdict} (arrays at the {side})"
            continue
        for index, one, other in zip(spec.kind.written, results, wanted, strict=True):
            right = other.astype(spec.tensors[index].dtype.numpy)
            if not _same(spec, one, right):
                raise AssertionError(
                    f"{_difference(one, right)} (arrays at the {side} of their pages, "
                    f"poison {byte:#x})"
                )


def check_bound(program: Program) -> None:
    """The one output of random inputs, within the bound of its reference, whatever lay
    around and before."""
    spec = program.spec
    inputs = spec.random(np.random.default_rng(0))
    exact = tuple(array.astype(np.float64) for array in inputs)
    ((number, error),) = reference(spec.kind, spec.sizes, exact)
    for side, byte in RUNS:
        (result,) = run(program, inputs, side, byte)
        assert np.all(np.abs(result - number) <= error)


def _difference(result: Array, wanted: Array) -> str:
    """How many elements have other bits, and the first of them."""
    differ = bits(result).reshape(result.size, -1) != bits(wanted).reshape(
        result.size, -1
    )
    wrong = np.flatnonzero(differ.any(axis=1))
    first = tuple(map(int, np.unravel_index(int(wrong[0]), result.shape)))
    return (
        f"{wrong.size} of {result.size} elements are wrong, the first at {first}: "
        f"{result[first]}, not {wanted[first]}"
    )


def _same(spec: Spec, result: Array, wanted: Array) -> bool:
    """Equal bits; but a NaN that was computed stands for every NaN."""
    if result.dtype == np.float32 and not spec.kind.copies:
        both = np.isnan(result) & np.isnan(wanted)
        result = np.where(both, wanted, result)
    return np.array_equal(bits(result), bits(wanted))


def check_all(
    programs: Sequence[Program], seed: int, more: Check | None = None
) -> None:
    """Every program on random inputs, in one child process.

    ``more`` is called with each program, too.

    Raises:
        AssertionError: begins with how to make the program that failed again.
    """

    def one(program: Program, index: int) -> None:
        rng = np.random.default_rng((seed, index))
        check_exact(program, program.spec.random(rng))
        if more is not None:
            more(program, rng)

    def everything() -> int:
        for index, program in enumerate(programs):
            try:
                one(program, index)
            except AssertionError as error:
                raise AssertionError(f"{program.label}: {error}") from error
        return len(programs)

    try:
        done = check_in_child(everything, seconds=100)
    except AssertionError:
        # A fault ends the child: each program by itself says which one it was.
        for index, program in enumerate(programs):
            _alone(program, index, one)
        raise
    assert done == len(programs)


def _alone(program: Program, index: int, one: Any) -> None:
    try:
        check_in_child(lambda: one(program, index), seconds=60)
    except AssertionError as error:
        raise AssertionError(f"{program.label}: {error}") from error

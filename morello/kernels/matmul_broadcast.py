"""Matmul on registers: broadcast an element of lhs, multiply-add a row of rhs."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.kernels.base import Kernel, asks
from morello.kernels.casts import cast_cost
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.rules import (
    in_l1,
    in_registers,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.vectors import (
    REGISTERS,
    as_ints,
    lanes_of,
    parts,
    tail_of,
    vectors_of,
)
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame, Ints
from morello.targets.coefficients import Coefficients

UNROLL = 4
"""Up to this k the loop is written out."""

_INTEGER_REGISTERS = 3
"""Registers beside accumulators and a row of rhs: a factor and two products. A float
multiply-add needs the factor alone."""

_K = 2

_PANELS = {
    0: tuple(Layout.parse(f"[0,1,2,1p{rows}]") for rows in (4, 6)),
    1: tuple(Layout.parse(f"[0,2,1,2p{columns}]") for columns in (16, 24)),
}
_FLOAT_FORMS, _INTEGER_FORMS = (
    {
        operand: tuple(Form(dtype, x) for x in (Layout.row_major(3), *panels))
        for operand, panels in _PANELS.items()
    }
    for dtype in (Dtype.F32, Dtype.S32)
)


@dataclasses.dataclass(frozen=True)
class MatmulBroadcast(Kernel):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, over all of k.

    Each of the m · ceil(n/8) accumulators is one register for the whole loop over k.
    A width that is not a multiple of 8 reads the last columns of rhs with a mask.
    Factors that are narrower than out are cast as they are loaded.
    """

    name: ClassVar[str] = "matmul_broadcast"

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes; k unpacked, n innermost in rhs, out in registers."""
        if not isinstance(key.kind, Matmul) or not key.kind.accum:
            return False
        lhs, rhs, out = key.tensors
        return (
            in_l1(lhs, rhs)
            and in_registers(out)
            and not is_interleaved(lhs.layout)
            and not is_interleaved(rhs.layout)
            and lhs.layout.pack(2) == 1
            and rhs.layout.pack(1) == 1
            and rhs.layout.innermost == 2
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Everything that lives in the loop has a register; panels are not crossed."""
        _, m, k, n = frame.sizes
        dtype = frame.key.tensors[2].dtype
        vectors = vectors_of(n, lanes_of(dtype))
        # A single row takes its columns straight from memory, but for a masked one.
        row: Ints = np.where(m == 1, np.minimum(vectors, 1), vectors)
        beside = row + (1 if dtype.is_float else _INTEGER_REGISTERS)
        return (
            size_is_one(frame, 0),
            *_no_groups(frame, k),
            *within_pack(frame, 0, 1),
            *within_pack(frame, 1, 2),
            Condition(
                m * vectors + beside <= REGISTERS,
                "needs registers for m * ceil(n / 8) sums, a row of rhs and a factor, "
                f"in all {REGISTERS}: tile m or n smaller",
            ),
            Condition(
                frame.limits.vrf >= beside,
                "needs free registers for a row of rhs and a factor beside out: "
                "take fewer for out",
            ),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of arithmetic, loads and the accumulator chains, for each k."""
        c = coefficients
        _, m, k, n = frame.sizes
        dtype = frame.key.tensors[2].dtype
        vectors = vectors_of(n, lanes_of(dtype))
        masked = tail_of(n, lanes_of(dtype))
        arithmetic, latency = (
            (c.fma, c.fma_latency)
            if dtype.is_float
            else (c.multiply_add_int, c.multiply_add_int_latency)
        )
        loads = c.load * (m + vectors - masked) + c.masked_load * masked
        lhs, rhs, _ = frame.key.dtypes
        casts = m * cast_cost((lhs, dtype), c) + vectors * cast_cost((rhs, dtype), c)
        busy = arithmetic * m * vectors + casts // 2  # beside, on other ports
        step = np.maximum(np.maximum(busy, loads), latency)
        return as_ints(c.kernel_setup + k * step)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over k that carries the accumulators; written out for a short one."""
        lhs, rhs, out = operands
        _, m, k, n = spec.sizes
        lanes = lanes_of(out.tensor.dtype)
        runs = parts(n, lanes)
        places = [(0, i, j) for i in range(m) for j in range(len(runs))]

        def convert(value: Value, factor: Buffer) -> Value:
            return emitter.convert(value, factor.tensor.dtype, out.tensor.dtype)

        def step(at: Value, carried: Sequence[Value]) -> list[Value]:
            row = [
                convert(emitter.load(rhs, (0, at, start), lanes, count), rhs)
                for start, count in runs
            ]
            sums = []
            for i in range(m):
                element = convert(emitter.load_element(lhs, (0, i, at)), lhs)
                factor = emitter.broadcast(element, lanes)
                chains = carried[i * len(runs) : (i + 1) * len(runs)]
                sums += [
                    emitter.multiply_add(factor, column, chain)
                    for column, chain in zip(row, chains, strict=True)
                ]
            return sums

        sums: Sequence[Value] = [emitter.load_register(out, at) for at in places]
        if k <= UNROLL:
            for at in range(k):
                sums = step(at, sums)
        else:
            sums = emitter.loop(0, k, 1, sums, step)
        for total, place in zip(sums, places, strict=True):
            emitter.store_register(total, out, place)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels: rows of lhs, columns of rhs, so that the loop reads on and on.

        Narrower floats become f32 there. Those of lhs do in plain rows too; those of
        rhs are cast as they are loaded as well as in a copy that is no better to read.
        """
        if not isinstance(key.kind, Matmul):
            return ()
        out = key.tensors[2].dtype
        if out is Dtype.F32:
            forms = asks(key, operand, _FLOAT_FORMS, _unpacked_in_k)
            narrow = operand == 1 and key.tensors[1].dtype is not out
            return tuple(f for f in forms if f.layout.is_packed or not narrow)
        if set(key.dtypes) == {Dtype.S32}:
            return asks(key, operand, _INTEGER_FORMS, _unpacked_in_k)
        return ()

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """out."""
        return (2,) if isinstance(key.kind, Matmul) else ()


def _no_groups(frame: Frame, k: Ints) -> tuple[Condition, ...]:
    """That k is 1 where neighbours along it are taken together."""
    grain = frame.key.kind.grain(_K)
    if grain == 1:
        return ()
    return (
        Condition(
            k == 1,
            f"takes each k by itself, where {frame.key.kind.label} takes {grain} "
            "together: use k = 1, or a kernel that saturates",
        ),
    )


def _unpacked_in_k(operand: int, tensor: TensorSpec) -> bool:
    layout = tensor.layout
    return layout.pack(2 - operand) == 1 and not is_interleaved(layout)

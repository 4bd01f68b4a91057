"""A case that is timed: activations, weights of a format, Morello's product of both."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import morello
from benchmarks.harness.case import aligned
from benchmarks.harness.machine_roofs import beyond_caches
from morello.weights import ScaledWeights, bytes_spec

Array = np.ndarray[Any, np.dtype[Any]]

Call = Callable[[int], Any]
"""Computes the product with one of the copies of the weights."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One product: rows of f32 times k x n weights.

    Args:
        form: ``int4-GROUP``, ``int8`` with a scale a column, or ``f16``.
        rows: of the activations.
    """

    form: str
    rows: int
    k: int
    n: int

    @property
    def group(self) -> int:
        """Integers along k that share a scale."""
        return int(self.form.partition("-")[2] or self.k)

    @functools.cached_property
    def x(self) -> Array:
        """The activations, f32."""
        x = np.random.default_rng(1).standard_normal((self.rows, self.k))
        return x.astype(np.float32)

    @functools.cached_property
    def weights(self) -> ScaledWeights | Array:
        """Integers with scales, or numbers of f16."""
        rng = np.random.default_rng(0)
        if self.form == "f16":
            return rng.standard_normal((self.k, self.n)).astype(np.float16)
        bits = 4 if self.form.startswith("int4") else 8
        bytes_ = rng.integers(0, 256, (self.k * bits // 8, self.n), np.uint8)
        stored = bytes_ if bits == 4 else bytes_.view(np.int8)
        scales = rng.random((self.k // self.group, self.n)) * 0.01 + 0.001
        return ScaledWeights(
            stored, scales.astype(np.float16), 8 if bits == 4 else 0, bits=bits
        )

    @property
    def scaled(self) -> ScaledWeights:
        """The weights, which have scales."""
        assert isinstance(self.weights, ScaledWeights)
        return self.weights

    @functools.cached_property
    def result(self) -> Array:
        """The product in f64."""
        w = self.weights if self.form == "f16" else self.scaled.values()
        return self.x.astype(np.float64) @ w.astype(np.float64)

    @property
    def nbytes(self) -> int:
        """Bytes of the weights with their scales."""
        return sum(array.nbytes for array in self.stored)

    @property
    def copies(self) -> int:
        """Copies of the weights that no cache holds together."""
        return max(2, -(-4 * beyond_caches() // self.nbytes))

    @property
    def stored(self) -> tuple[Array, ...]:
        """The arrays of the weights: scales and integers, or numbers of f16."""
        if isinstance(self.weights, ScaledWeights):
            return self.weights.arguments
        return (self.weights,)

    def error(self, y: Any) -> float:
        """The largest error as a part of the largest result."""
        return float(np.abs(y - self.result).max() / np.abs(self.result).max())


def exact(case: Case, **options: Any) -> tuple[Call, Array]:
    """Morello's product with activations in f32."""
    return _ours(case, False, options)


def in_bytes(case: Case, **options: Any) -> tuple[Call, Array]:
    """Morello's product with activations that are rounded to bytes in the call.

    Raises:
        ValueError: the weights are no integers.
    """
    if case.form == "f16":
        raise ValueError("bytes are multiplied by integers")
    return _ours(case, True, options)


def _program(case: Case, rounds: bool) -> tuple[str, str]:
    """The Spec, and a letter for each operand: x, or a and the scales d of its bytes;
    w, or q and its scales s."""
    m, k, n = case.rows, case.k, case.n
    if case.form == "f16":
        return f"matmul:{m}x{k}x{n}:f32,f16,f32:rhs=any", "xw"
    if not rounds:
        return f"{case.scaled.spec(m)}:x1=any:x2=any", "xsq"
    if case.group < k:
        return f"{case.scaled.spec(m, 's8')}:x2=any:x3=any", "dasq"
    graph = "p[m,n]=sum(a[m,k]*q[k,n]);y[m,n]=p*d[m]*s[n]"
    return f"compose:{m}x{n}x{k}:s8,s8,f32,f16,f32:graph={graph}:x1=any", "aqds"


def _ours(case: Case, rounds: bool, options: Any) -> tuple[Call, Array]:
    """Each call has weights that are packed beforehand."""
    m, k, group = case.rows, case.k, case.group
    text, names = _program(case, rounds)
    kernel = morello.compile(text, threads=1, **options)
    spec = kernel.spec
    operands = dict(
        zip("sq" if len(case.stored) > 1 else "w", case.stored, strict=True)
    )
    operands["x"] = case.x
    before: Callable[[], Any] | None = None
    if rounds:
        groups = bytes_spec(m * k // group, group)
        quantise = morello.compile(groups, threads=1, **options)
        x = case.x.reshape(-1, group)
        operands["d"], operands["a"] = quantise(x)
        before = quantise.bind(x, operands["d"], operands["a"])
    arrays = [operands[x].reshape(spec.shape(i)) for i, x in enumerate(names)]
    out = np.empty(spec.physical_shape(len(names)), np.float32)
    calls = []
    for _ in range(case.copies):
        lie = (
            _aligned(spec.to_physical(i, array)) if name in "wsq" else array
            for i, (name, array) in enumerate(zip(names, arrays, strict=True))
        )
        calls.append(kernel.bind(*lie, out))

    def call(copy: int) -> None:
        if before is not None:
            before()
        calls[copy]()

    return call, out.reshape(m, case.n)


def _aligned(array: Array) -> Array:
    copy: Array = aligned((array.nbytes,), "u8").view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy

"""Products of bytes with scaled integers, both scaled, against NumPy, bit for bit."""

import re
from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import TARGETS
from morello.machine.host import missing_features
from morello.spec import Spec
from morello.spec.checking import reference
from tests.graphs.defined import check_as_defined, with_specials
from tests.guarded import check_canaries, guarded_array
from tests.kernels.harness import features_text

Array = np.ndarray[Any, np.dtype[Any]]

PANEL = {"avx2": 32, "avx512": 64, "avx512-vnni-bf16": 64, "avx2-vnni": 32}

FORMS = {
    "nibbles": ("f32,s8,f16,u8,f32", "s[k//32,n]*(q[k/2,n]-8)"),
    "nibbles with zeros": ("f32,s8,f32,u8,u8,f32", "s[k//32,n]*(q[k/2,n]-z[k//32,n])"),
    "nibbles with offsets": ("f32,s8,f16,u8,f16,f32", "s[k//32,n]*q[k/2,n]+o[k//32,n]"),
    "nibbles of two levels": (
        "f32,s8,f16,u8,u8,f16,u8,f32",
        "s[k//64,n]*t[k//32,n]*q[k/2,n]-o[k//64,n]*p[k//32,n]",
    ),
    "signed bytes": ("f32,s8,bf16,s8,f32", "s[k//32,n]*(q[k,n]-3)"),
    "bytes with zeros": ("bf16,s8,f32,u8,u8,f32", "s[k//32,n]*(q[k,n]-z[k//32,n])"),
    "bytes of two levels": ("f32,s8,f16,s8,s8,f32", "s[k//64,n]*t[k//16,n]*q[k,n]"),
}
"""Dtypes, and the weights."""


def _kernel(
    form: str, m: int, n: int, k: int, target: str, equals: str = "="
) -> morello.Kernel:
    """A kernel whose integers, and what they have of blocks, are in panels."""
    dtypes, weights = FORMS[form]
    panel = f"[1,0,1p{PANEL[target]}"
    packed = "".join(
        f":x{place}={panel}{'' if '//' in read else ',0p4'}]"
        for place, read in enumerate(re.findall(r"\[(.*?)\]", weights), 2)
    )
    block = 16 if "//16" in weights else 32
    text = f"out y[m,n]{equals}sum(d[m,k//{block}]*a[m,k]*({weights}))"
    return morello.compile(
        f"compose:{m}x{n}x{k}:{dtypes}{packed}:graph={text}", threads=1, target=target
    )


def _arrays(spec: Spec) -> tuple[list[Array], Array]:
    """Arguments whose sums are exact, factors and weights of all bytes; the result,
    less what out holds before."""
    rng = np.random.default_rng(sum(spec.sizes))
    arrays = []
    for place in range(len(spec.dtypes) - 1):
        dtype, shape = spec.dtypes[place], spec.shape(place)
        if not dtype.is_float:
            array = np.frombuffer(rng.bytes(int(np.prod(shape))), dtype.numpy)
            axes = spec.kind.operands[place].axes
            if any(axis.is_divided and not axis.halves for axis in axes):
                array = array & 15
        elif place in _SCALES:
            array = 2.0 ** rng.integers(-1, 2, shape)
        else:
            array = rng.integers(-7, 8, shape)
        arrays.append(array.reshape(shape).astype(dtype.numpy))
    wide = [array.astype(np.float64) for array in arrays]
    held = [np.zeros(spec.shape(-1))] * spec.kind.accumulates
    ((wanted, _),) = reference(spec.kind, spec.sizes, (*wide, *held))
    return arrays, wanted


_SCALES = (0, 2)


def _skip_without(target: str) -> None:
    isa = TARGETS[target].isa
    if missing := missing_features(isa.cpu, features_text(isa)):
        pytest.skip(f"this machine has no {', '.join(missing)}")


SIZES = [
    ("avx2", (1, 70, 96)),
    ("avx2", (5, 33, 64)),
    ("avx2-vnni", (2, 100, 64)),
    ("avx512", (1, 200, 64)),
    ("avx512", (7, 65, 32)),
    ("avx512-vnni-bf16", (1, 130, 96)),
    ("avx512-vnni-bf16", (8, 90, 64)),
    ("avx512-vnni-bf16", (11, 64, 64)),
]
CASES = [
    (form, *case)
    for form in FORMS
    for case in SIZES
    # Bytes are for targets that add four products of any of them.
    if "bytes" not in form or "vnni" in case[0]
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("form", "target", "sizes"), CASES)
def test_products_are_as_defined(
    form: str, target: str, sizes: tuple[int, int, int]
) -> None:
    """Exact; infinities, NaN and large scales, of groups of bytes at every place, of
    columns at the first and the last one."""
    _skip_without(target)
    m, n, k = sizes
    kernel = _kernel(form, m, n, k, target)
    assert "scaled_bytes" in kernel.schedule
    spec = kernel.spec
    arrays, wanted = _arrays(spec)
    for side in ("end", "start"):
        guarded = [
            guarded_array(spec.to_physical(i, array), side, False)
            for i, array in enumerate(arrays)
        ]
        out = guarded_array(np.zeros((m, n), np.float32), side)
        kernel(*guarded, out)
        check_canaries(out)
        np.testing.assert_array_equal(out, wanted.astype(np.float32))
    for operand, array in enumerate(arrays):
        if spec.dtypes[operand].is_float:
            places = range(array.size) if operand == 0 else (0, n - 1, 0)
            for changed in with_specials(arrays, operand, places):
                check_as_defined(kernel, changed)
    for place, array in enumerate(arrays):
        if spec.dtypes[place].is_float:
            by = 2.0**-20 if place else 2.0**115
            arrays[place] = (array * by).astype(array.dtype)
    check_as_defined(kernel, arrays)


@pytest.mark.parametrize("target", ["avx2", "avx512-vnni-bf16"])
def test_products_are_added_to_what_out_holds(target: str) -> None:
    _skip_without(target)
    kernel = _kernel("nibbles", 2, 40, 64, target, "+=")
    assert "scaled_bytes" in kernel.schedule
    spec = kernel.spec
    arrays, wanted = _arrays(spec)
    physical = [spec.to_physical(i, array) for i, array in enumerate(arrays)]
    out = np.full((2, 40), 0.25, np.float32)
    kernel(*physical, out)
    np.testing.assert_array_equal(out, (wanted + 0.25).astype(np.float32))


@pytest.mark.parametrize("target", ["avx2", "avx512-vnni-bf16"])
def test_sums_of_the_largest_numbers_of_a_block_are_exact(target: str) -> None:
    """Sixteen-bit sums are full: 8 of two products of 15 and -128 each."""
    _skip_without(target)
    kernel = _kernel("nibbles", 1, 32, 64, target)
    spec = kernel.spec
    ones = np.ones((1, 2), np.float32), np.ones((2, 32), np.float16)
    a = np.full((1, 64), -128, np.int8)
    q = np.full((32, 32), 0xFF, np.uint8)
    operands = ones[0], a, ones[1], q
    y = kernel(*(spec.to_physical(i, array) for i, array in enumerate(operands)))
    np.testing.assert_array_equal(y, np.full((1, 32), 64 * -128 * 7, np.float32))


def test_blocks_that_sums_do_not_hold_are_left_to_other_kernels() -> None:
    """Of 16 integers there is no whole vector of sums."""
    text = "y[m,n]=sum(d[m,k//16]*a[m,k]*(s[k//16,n]*(q[k/2,n]-8)))"
    kernel = morello.compile(
        f"compose:1x16x32:f32,s8,f32,u8,f32:graph={text}", threads=1, time_limit=5
    )
    assert "scaled_bytes" not in kernel.schedule
    d, s = np.full((1, 2), 2, np.float32), np.full((2, 16), 0.5, np.float32)
    q = np.full((16, 16), 0x9A, np.uint8)
    y = kernel(d, np.ones((1, 32), np.int8), s, q)
    np.testing.assert_array_equal(y, np.full((1, 16), 16 * (2 + 1), np.float32))

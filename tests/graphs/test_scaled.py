"""Products with narrow integers that have scales, against NumPy, bit for bit."""

import re
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import SpecError
from morello.spec import Spec
from morello.spec.checking import reference
from morello.spec.graphs.graph import canonical
from morello.spec.graphs.scaled import scaled_product
from morello.spec.graphs.text import parse_graph
from morello.spec.index_map import IndexMap
from tests.graphs.defined import check_as_defined, with_specials
from tests.guarded import check_canaries, guarded_array

Array = np.ndarray[Any, np.dtype[Any]]

PANEL = {"avx2": 32, "avx512": 64}

FORMS = {
    "nibbles": ("f32,bf16,u8,f32", "s[k//32,n]*(q[k/2,n]-8)"),
    "nibbles with zeros": ("f32,f32,u8,f32,f32", "s[k//32,n]*(q[k/2,n]-z[k//32,n])"),
    "nibbles with offsets": ("f32,f16,u8,f16,f32", "s[k//32,n]*q[k/2,n]+o[k//32,n]"),
    "nibbles of two levels": (
        "bf16,f16,u8,u8,f16,u8,f32",
        "s[k//64,n]*t[k//32,n]*q[k/2,n]-o[k//64,n]*p[k//32,n]",
    ),
    "bytes": ("bf16,f32,s8,f32", "s[k//32,n]*q[k,n]"),
    "bytes with zeros": ("f32,f32,u8,u8,f32", "s[k//32,n]*(q[k,n]-z[k//32,n])"),
    "bytes with offsets": ("f32,f32,s8,f32,f32", "s[n]*(q[k,n]-3)+o[n]"),
}
"""Dtypes, and the weights."""


def _kernel(
    form: str, m: int, n: int, k: int, target: str, quads: bool = False
) -> morello.Kernel:
    """A kernel whose integers, and what they have of blocks, are in panels; the
    integers with four bytes along k after one another if ``quads``."""
    dtypes, weights = FORMS[form]
    packed = "".join(
        f":x{place}=[1,0,1p{PANEL[target]}{',0p4' if quads and 'k/2' in read else ''}]"
        for place, read in enumerate(re.findall(r"\[(.*?)\]", weights), 1)
        if "k" in read
    )
    text = f"y[m,n]=sum(a[m,k]*({weights}))"
    return morello.compile(
        f"compose:{m}x{n}x{k}:{dtypes}{packed}:graph={text}", threads=1, target=target
    )


def _numbers(spec: Spec, rng: np.random.Generator) -> list[Array]:
    """Arguments whose sums are exact: scales are powers of two, the others small
    integers, all bytes among them."""
    arrays = []
    for place in range(len(spec.dtypes) - 1):
        dtype, shape = spec.dtypes[place], spec.shape(place)
        if not dtype.is_float:
            array = np.frombuffer(rng.bytes(int(np.prod(shape))), dtype.numpy)
        elif place == 1:
            array = 2.0 ** rng.integers(-1, 2, shape)
        else:
            array = rng.integers(-7, 8, shape)
        arrays.append(array.reshape(shape).astype(dtype.numpy))
    return arrays


def _packed(numbers: Array) -> Array:
    """Two numbers along k in a byte, the first in the low half."""
    nibbles: Array = (numbers[::2] | numbers[1::2] << 4).astype(np.uint8)
    return nibbles


def _repeated(array: Array, k: int) -> Array:
    return np.repeat(array.astype(np.float64), 32, axis=0)[:k]


CASES = [
    ("avx2", "scaled_rows", (1, 70, 96), False),
    ("avx2", "scaled_rows", (5, 33, 64), False),
    ("avx2", "scaled_pairs", (1, 70, 96), True),
    ("avx2", "scaled_pairs", (2, 33, 200), True),
    ("avx512", "scaled_rows_512", (1, 200, 64), False),
    ("avx512", "scaled_rows_512", (2, 65, 40), False),
    ("avx512", "scaled_rows_512", (1, 70, 96), True),
    ("avx512", "scaled_rows_512", (5, 130, 72), True),
    ("avx512", "scaled_rows_512", (8, 70, 96), False),
    ("avx512", "scaled_rows_512", (17, 100, 32), False),
]
"""Targets, kernels, sizes, and whether four bytes along k are neighbours: blocks are
summed before they are scaled, but of 17 rows."""

OF_FORMS = [
    (form, *case) for form in FORMS for case in CASES
    if "nibbles" in form or not case[3]
]  # fmt: skip


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("form", "target", "kernel", "sizes", "quads"), OF_FORMS)
def test_products_are_as_defined(
    form: str, target: str, kernel: str, sizes: tuple[int, int, int], quads: bool
) -> None:
    compiled = _kernel(form, *sizes, target, quads)
    assert f'"{kernel}"' in compiled.schedule
    _check_exact(compiled)
    _check_specials(compiled)
    _check_overflow(compiled, form)


def _check_exact(kernel: morello.Kernel) -> None:
    """A kernel, beside forbidden pages, gives the sums in f64."""
    spec = kernel.spec
    arrays = _numbers(spec, np.random.default_rng(0))
    wide = tuple(array.astype(np.float64) for array in arrays)
    ((wanted, _),) = reference(spec.kind, spec.sizes, wide)
    for side in ("end", "start"):
        guarded = [
            guarded_array(spec.to_physical(i, array), side, False)
            for i, array in enumerate(arrays)
        ]
        out = guarded_array(np.zeros(spec.shape(-1), np.float32), side)
        kernel(*guarded, out)
        check_canaries(out)
        np.testing.assert_array_equal(out, wanted.astype(np.float32))


def _check_specials(kernel: morello.Kernel) -> None:
    """Infinities and NaN are right at every place of the last row, and at some of the
    first, of what is beside the integers, too."""
    spec = kernel.spec
    arrays = _numbers(spec, np.random.default_rng(0))
    for operand, array in enumerate(arrays):
        if spec.dtypes[operand].is_float:
            length, columns = array.shape[-1], spec.shape(-1)[-1]
            rows = range(array.size - length, array.size)
            places = rows if operand == 0 else (0, columns - 1)
            for changed in with_specials(arrays, operand, (*places, 0)):
                check_as_defined(kernel, changed)


def _check_overflow(kernel: morello.Kernel, form: str) -> None:
    """Sums that overflow before they are scaled are right."""
    spec = kernel.spec
    arrays = _numbers(spec, np.random.default_rng(0))
    for place, array in enumerate(arrays):
        if spec.dtypes[place].is_float and place and ("zeros" not in form or place < 2):
            arrays[place] = (array * 2.0**-20).astype(array.dtype)
    for signs in (1, np.random.default_rng(1).choice([-1, 1], arrays[0].shape)):
        arrays[0] = np.full_like(arrays[0], 2.0**124) * signs
        check_as_defined(
            kernel,
            [a.astype(d.numpy) for a, d in zip(arrays, spec.dtypes, strict=False)],
        )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("m", "kernel"), [(1, "scaled_pairs"), (4, "scaled_rows")])
def test_sums_of_both_halves_are_for_the_fewest_rows(m: int, kernel: str) -> None:
    """They take twice the registers: of more rows they would decode twice."""
    text = f"compose:{m}x512x512:f32,f32,u8,f32:x1=any:x2=any:graph=y[m,n]="
    text += "sum(a[m,k]*(s[k//128,n]*(q[k/2,n]-8)))"
    compiled = morello.compile(text, threads=1, target="avx2", load=False)
    assert f'"{kernel}"' in compiled.schedule


@pytest.mark.parametrize("target", PANEL)
def test_every_nibble_at_every_place_of_a_block(target: str) -> None:
    n, k = 16, 64
    kernel = morello.compile(
        f"compose:{k}x{n}x{k}:f32,f32,u8,f32"
        ":graph=y[m,n]=sum(a[m,k]*(s[k//32,n]*(q[k/2,n]-8)))",
        threads=1,
        target=target,
    )
    assert "scaled_rows" in kernel.schedule
    q = np.add.outer(np.arange(k), np.arange(n)) % 16
    scales = np.stack([np.full(n, 0.5), np.full(n, 2.0)]).astype(np.float32)
    result = kernel(np.eye(k, dtype=np.float32), scales, _packed(q))
    np.testing.assert_array_equal(result, _repeated(scales, k) * (q - 8))


def test_a_scale_that_is_no_number_spoils_its_column_alone() -> None:
    kernel = _kernel("nibbles", 2, 40, 64, "avx2")
    spec = kernel.spec
    scales = np.ones((2, 40), spec.dtypes[1].numpy)
    scales[1, 7] = np.nan
    arrays = [np.ones((2, 64), np.float32), scales, np.full((32, 40), 0x11, np.uint8)]
    result = kernel(*(spec.to_physical(i, array) for i, array in enumerate(arrays)))
    wanted = np.full((2, 40), -7.0 * 64)
    wanted[:, 7] = np.nan
    np.testing.assert_array_equal(result, wanted)


ALONG = "y[m,n]=sum(a[m,k]*(s[n,k//32]*(q[n,k/2]-8)))"
"""Neighbours along k are neighbours in memory."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("sizes", "dtypes", "text"),
    [
        ("20x24", "f32,u8,f32", "y[n]=sum(a[k]*q[k/2,n])"),
        ("24x20x3", "f32,u8,f32,f32", "w[k,n]=q[k/2,n]*s[n];y[m,n]=sum(a[m,k]*w)"),
        ("24x20", "u8,f32", "y[k,n]=exp(q[k/2,n]*0.01)"),
        ("20x24", "u8,f32", "y[n]=max(q[k/2,n])"),
        ("3x44", "u8,f32", "y[m]=sum(q[m,k/2])"),
        ("3x44", "u8,f32", "y[m,k]=exp(q[m,k/2]*0.01)"),
        ("3x7x40", "f32,f32,u8,f32", ALONG),
        ("3x40x40", "f32,f32,u8,f32:x1=any:x2=any", ALONG),
    ],
)
def test_graphs_read_halves_of_bytes(sizes: str, dtypes: str, text: str) -> None:
    kernel = morello.compile(f"compose:{sizes}:{dtypes}:graph={text}", threads=1)
    spec = kernel.spec
    arrays = spec.random(np.random.default_rng(0))
    wide = tuple(array.astype(np.float64) for array in arrays)
    ((number, error),) = reference(spec.kind, spec.sizes, wide)
    result = kernel(*(spec.to_physical(i, array) for i, array in enumerate(arrays)))
    assert np.all(np.abs(result - number) <= error)


def test_what_has_scales_is_known_in_any_order() -> None:
    texts = (
        "y[m,n]=sum(a[m,k]*s[k//32,n]*q[k,n])",
        "w[k,n]=(q[k,n]-z[k//32,n])*s[k//32,n];y[m,n]=sum(w*a[m,k])",
        "y[n,m]=sum((q[n,k/2]-8)*s[n,k//64]*t[n]*a[k,m])",
    )
    for text in texts:
        product = scaled_product(canonical(parse_graph(text)).graph)
        assert product is not None
        assert product.rows is not None
    none = "y[m,n]=sum(a[m,k]*s[m,n]*q[k,n])"
    assert scaled_product(canonical(parse_graph(none)).graph) is None


def test_halves_of_bytes_are_told() -> None:
    with pytest.raises(SpecError, match="an odd number"):
        morello.compile("compose:4x7:u8,f32:graph=y[n]=sum(q[k/2,n])", threads=1)
    with pytest.raises(SpecError, match="use u8"):
        morello.compile("compose:4x8:s8,f32:graph=y[n]=sum(q[k/2,n])", threads=1)
    with pytest.raises(SpecError, match="halves"):
        IndexMap(((0, 1),), divisor=4, halves=True)

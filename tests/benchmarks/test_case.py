"""Cases: their texts, their data, and the answer that outputs are held to."""

import numpy as np
import pytest

from benchmarks.harness.case import (
    Case,
    CaseError,
    Data,
    aligned,
    aligned_copy,
    store,
    widen,
)
from benchmarks.harness.suites import SUITES, cases
from morello.machine import AVX2
from morello.spec.text.open_specs import parse_open_spec

pytestmark = pytest.mark.quick

EVERY = cases([])


@pytest.mark.parametrize("case", EVERY, ids=lambda c: c.text)
def test_texts_are_read_back(case: Case) -> None:
    assert Case.parse(case.text) == case


@pytest.mark.parametrize("case", EVERY, ids=lambda c: c.text)
def test_morello_reads_the_same_in_them(case: Case) -> None:
    spec = parse_open_spec(case.spec, AVX2.limits).spec
    assert spec.sizes == case.sizes
    assert tuple(map(str, spec.dtypes)) == case.dtypes
    assert spec.flops == case.flops


def test_short_forms() -> None:
    assert Case.parse("matmul:2x3x4") == Case((1, 2, 3, 4))
    assert Case.parse("matmul:5x2x3x4:s32") == Case((5, 2, 3, 4), ("s32",) * 3)


@pytest.mark.parametrize(
    "text",
    [
        "max:3x4",
        "matmul:3x4",
        "matmul:3x4x5:f33",
        "matmul:3x4x5:f32,f32",
        "matmul:3x4x5:f32:rhs=[2,1,0]",
        "matmul:3x4x5:f32:lhs=any",
        "matmul:3x4x5:f32:inputs=any",
        "matmul:3x4x5:u8,s8,s16:inputs=any",
        "matmul:3x4x5:u8,s8,s32:inputs=large",
        "matmul:3x4x5:f32:flushing=true",
    ],
)
def test_what_is_no_case_is_refused(text: str) -> None:
    with pytest.raises(CaseError):
        Case.parse(text)


def test_suites_and_specs_by_name_each_once() -> None:
    assert cases(["u8s8s32", "matmul:128x128x128:u8,s8,s32"]) == cases(["u8s8s32"])
    assert len(EVERY) == sum(map(len, SUITES.values()))
    with pytest.raises(CaseError, match="f32-squares"):
        cases(["f32-circles"])


def test_bytes_count_every_operand_once() -> None:
    case = Case((2, 3, 5, 7), ("u8", "s8", "s32"))
    assert case.bytes == 2 * (3 * 5 + 5 * 7 + 3 * 7 * 4)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "u8", "s8", "s16", "s32"])
def test_small_integers_are_stored_exactly(dtype: str) -> None:
    values = np.arange(0 if dtype == "u8" else -128, 128)
    assert widen(store(values, dtype), dtype).tolist() == values.tolist()


def test_any_bytes_leave_16_bits_in_pairs() -> None:
    case = Case.parse("matmul:8x64x32:u8,s8,s32:inputs=any")
    data = Data.make(case)
    assert (data.lhs.min(), data.lhs.max()) == (0, 255)
    assert (data.rhs.min(), data.rhs.max()) == (-128, 127)
    wide = np.matmul(data.lhs.astype(np.int64), data.rhs.astype(np.int64))
    assert np.array_equal(data.answer, wide)
    pairs = data.lhs[:, :, None, :2] * data.rhs[:, None, :2].mT.astype(np.int64)
    assert np.abs(pairs.sum(-1)).max() >= 1 << 15


def test_data_is_the_product_by_its_definition() -> None:
    case = Case((2, 3, 4, 5), ("bf16", "bf16", "f32"), rhs="column")
    data = Data.make(case)
    lhs, rhs = widen(data.lhs, "bf16"), widen(data.rhs, "bf16")
    assert rhs.shape == (2, 5, 4)
    for b, m, n in np.ndindex(2, 3, 5):
        total = sum(lhs[b, m, k] * rhs[b, n, k] for k in range(4))
        assert data.answer[b, m, n] == total
    assert len(np.unique(lhs)) > 1


def test_sums_of_every_suite_fit_their_output() -> None:
    widest = {"f32": 2**24, "s16": 2**15 - 1, "s32": 2**31 - 1}
    for case in EVERY:
        assert 4 * 4 * case.sizes[2] <= widest[case.dtypes[2]]


def test_operands_begin_at_lines() -> None:
    for size in (1, 3, 1000):
        array = aligned((size, 3), "s16")
        assert array.ctypes.data % 64 == 0
        assert (array.view(np.uint8) == 0xA5).all()
        copy = aligned_copy(np.arange(size, dtype=np.float32), "f32")
        assert copy.ctypes.data % 64 == 0
        assert copy.tolist() == list(range(size))

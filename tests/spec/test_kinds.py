"""Each kind's meaning against loops written down again, and its random inputs."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.errors import SpecError
from morello.spec import (
    ELEMENT_TYPES,
    Array,
    Dtype,
    Fill,
    Kind,
    Limits,
    Matmul,
    Move,
    Spec,
    parse_spec,
)
from morello.spec.checking import EXACT_BOUND, bit_patterns, reference, small_integers
from morello.spec.kinds import KINDS, instances, labels
from morello.spec.mixes import complete_mix, legal_mixes
from morello.spec.spec import argument_tensor
from morello.spec.structure import neutral_of
from morello.spec.tensors.layout import Layout
from morello.spec.text.spellings import kind_of_label
from tests.named_kinds import accumulating, named, reuses_inputs

pytestmark = pytest.mark.quick

F32, S32, BF16 = Dtype.F32, Dtype.S32, Dtype.BF16
PRODUCTS = [
    (F32, F32, F32),
    (S32, S32, S32),
    (BF16, BF16, F32),
    (F32, BF16, F32),
    (Dtype.U8, Dtype.S8, Dtype.S16),
    (Dtype.U8, Dtype.S8, Dtype.S32),
]


def spec(kind: Kind, sizes: tuple[int, ...], dtypes: tuple[Dtype, ...]) -> Spec:
    forms = tuple(
        argument_tensor(dtype, Layout.row_major(operand.rank))
        for operand, dtype in zip(kind.operands, dtypes, strict=True)
    )
    return Spec(kind, sizes, forms, Limits.of(vrf=16, l1=512, l2=16384))


def wrapped(value: int, dtype: Dtype) -> int:
    """An integer modulo 2^bits, as the dtype reads it."""
    bits = 8 * dtype.itemsize
    value %= 1 << bits
    signed = dtype.value.startswith("s")
    return value - (1 << bits) if signed and value >= 1 << (bits - 1) else value


def product(dtypes: tuple[Dtype, ...], arrays: tuple[Array, ...]) -> list[Any]:
    """Loops over b, m, n and k, in Python's integers."""
    lhs, rhs = arrays[:2]
    sums = []
    for b in range(lhs.shape[0]):
        for m in range(lhs.shape[1]):
            for n in range(rhs.shape[2]):
                total = int(arrays[2][b, m, n]) if len(arrays) > 2 else 0
                for k in range(lhs.shape[2]):
                    total += int(lhs[b, m, k]) * int(rhs[b, k, n])
                out = dtypes[2]
                sums.append(total if out.is_float else wrapped(total, out))
    return sums


@pytest.mark.parametrize("dtypes", PRODUCTS, ids=lambda d: ",".join(map(str, d)))
@pytest.mark.parametrize("accum", [False, True])
def test_matmul(dtypes: tuple[Dtype, ...], accum: bool) -> None:
    goal = spec(Matmul(accum), (2, 3, 7, 5), dtypes)
    rng = np.random.default_rng(5)
    arrays = goal.random(rng)
    assert len(arrays) == (3 if accum else 2)
    out = goal.evaluate(*arrays)
    assert out.dtype == dtypes[2].numpy
    assert out.shape == (2, 3, 5)
    assert out.ravel().tolist() == product(dtypes, arrays)
    assert goal.flops == 2 * 2 * 3 * 7 * 5


def test_integers_wrap_around() -> None:
    rng = np.random.default_rng(6)
    for dtypes in PRODUCTS:
        if dtypes[2].is_float:
            continue
        goal = spec(Matmul(True), (1, 3, 300, 4), dtypes)
        arrays = tuple(
            bit_patterns(rng, dtype, goal.shape(i)) for i, dtype in enumerate(dtypes)
        )
        assert goal.evaluate(*arrays).ravel().tolist() == product(dtypes, arrays)


def test_a_float_product_is_rounded_once() -> None:
    goal = spec(Matmul(True), (1, 1, 2, 1), (F32, F32, F32))
    lhs = np.array([[[1.0, 2.0**-24]]], np.float32)
    rhs = np.array([[[1.0], [1.0]]], np.float32)
    out = np.array([[[2.0**-24]]], np.float32)
    assert goal.evaluate(lhs, rhs, out) == np.float32(1 + 2.0**-23)
    huge = np.full((1, 1, 2), 3e38, np.float32)
    assert goal.evaluate(huge, rhs * 2, out) == np.inf
    lhs[0, 0, 0] = np.nan
    assert np.isnan(goal.evaluate(lhs, rhs, out))


def greatest(values: list[float]) -> float:
    """IEEE 754 ``maximum``, one by one."""
    best = values[0]
    for value in values[1:]:
        if math.isnan(best) or math.isnan(value):
            best = math.nan
        elif best == value == 0:
            best = max(best, value, key=lambda v: math.copysign(1, v))
        else:
            best = max(best, value)
    return best


@pytest.mark.parametrize("accum", [False, True])
@pytest.mark.parametrize("dtype", [F32, S32])
def test_max(dtype: Dtype, accum: bool) -> None:
    goal = spec(named("max_accum" if accum else "max"), (9, 6), (dtype, dtype))
    rng = np.random.default_rng(7)
    src, *rest = goal.random(rng)
    rows = np.concatenate([src, *(o[:, None] for o in rest)], axis=1)
    want = [greatest(row) for row in rows.tolist()]
    assert goal.evaluate(src, *rest).tolist() == want
    assert goal.flops == 54


@pytest.mark.parametrize("accum", [False, True])
def test_max_of_nan_and_zeros(accum: bool) -> None:
    values = [0.0, -0.0, math.nan, -math.inf, math.inf, -1.5, 1e-45]
    rows = [[a, b] for a in values for b in values]
    src = np.array(rows, np.float32)
    arrays: tuple[Array, ...] = (src,)
    if accum:
        arrays = (src[:, :1], src[:, 1])
    kind = named("max_accum" if accum else "max")
    goal = spec(kind, (len(rows), arrays[0].shape[1]), (F32, F32))
    out: list[float] = goal.evaluate(*arrays).tolist()
    wide: list[list[float]] = src.astype(np.float64).tolist()
    for row, maximum in zip(wide, out, strict=True):
        want = greatest(row)
        assert math.isnan(maximum) == math.isnan(want), row
        if not math.isnan(want):
            assert (maximum, math.copysign(1, maximum)) == (
                want,
                math.copysign(1, want),
            )


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_move_keeps_bits(dtype: Dtype) -> None:
    goal = spec(Move(3), (3, 5, 7), (dtype, dtype))
    (src,) = goal.random(np.random.default_rng(8))
    out = goal.evaluate(src)
    assert out.tobytes() == src.tobytes()
    assert not np.shares_memory(out, src)
    assert goal.flops == 0


def test_moves_are_tried_with_every_pattern() -> None:
    (src,) = spec(Move(1), (4096,), (F32, F32)).random(np.random.default_rng(9))
    assert np.isnan(src).any()
    assert len(set(np.unpackbits(src.view(np.uint8)).tolist())) == 2


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_fill(dtype: Dtype) -> None:
    zero = spec(Fill(2), (3, 4), (dtype,))
    assert zero.random(np.random.default_rng(0)) == ()
    assert not np.any(dtype.values(zero.evaluate()).view(np.uint8))
    lowest = spec(Fill(2, "lowest"), (3, 4), (dtype,)).evaluate()
    assert lowest.shape == (3, 4)
    assert np.all(lowest == dtype.lowest)
    assert zero.flops == 0


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_random_numbers_are_small_integers(dtype: Dtype) -> None:
    values = small_integers(np.random.default_rng(1), dtype, (50, 50))
    numbers = dtype.values(values)
    wide = numbers.astype(np.int64)
    assert values.dtype == dtype.numpy
    assert np.array_equal(wide.astype(np.float64), numbers.astype(np.float64))
    unsigned = dtype.value.startswith("u")
    low = 0 if unsigned else -EXACT_BOUND
    assert set(wide.ravel().tolist()) == set(range(low, low + 2 * EXACT_BOUND + 1))


LABELS = [label for label, kind in labels().items() if not kind.is_variadic]
"""Those that say all of a kind, whatever the sizes."""


@pytest.mark.parametrize("label", LABELS)
def test_random_rows_and_columns_differ(label: str) -> None:
    """So that an output that is indexed wrongly is another one."""
    kind = kind_of_label(labels()[label], label, 3, {})
    goal = spec(kind, (16,) * len(kind.dims), (F32,) * len(kind.operands))
    for array in goal.random(np.random.default_rng(2)):
        rows = array.reshape(-1, 16) if array.ndim > 1 else array.reshape(-1, 1)
        assert len({row.tobytes() for row in rows}) > min(len(rows), 9) * 3 // 4
        if array.ndim > 1:
            columns = np.ascontiguousarray(rows.T)
            assert len({column.tobytes() for column in columns}) == len(columns)


def test_a_generator_repeats_itself() -> None:
    goal = spec(Matmul(True), (2, 3, 4, 5), (BF16, BF16, F32))
    first = goal.random(np.random.default_rng(3))
    second = goal.random(np.random.default_rng(3))
    assert [a.tobytes() for a in first] == [a.tobytes() for a in second]
    assert first[0].dtype == ml_dtypes.bfloat16


def test_what_kinds_say_of_themselves() -> None:
    assert Matmul(False).reductions == Matmul(True).reductions == (2,)
    assert named("max_accum").reductions == (1,)
    assert Move(3).reductions == Fill(2).reductions == ()
    assert [k.accumulates for k in (Matmul(True), named("max_accum"))] == [True, True]
    plain: list[Kind] = [Matmul(False), named("max"), Move(2), Fill(2)]
    assert not any(k.accumulates for k in plain)
    assert [accumulating(k) for k in plain] == [
        Matmul(True),
        named("max_accum"),
        None,
        None,
    ]
    assert accumulating(Matmul(False, True)) == Matmul(True, True)
    assert accumulating(Matmul(True)) is accumulating(named("max_accum")) is None
    assert [neutral_of(k, k.written[0]) for k in plain[:2]] == ["zero", "lowest"]
    assert [k.moves_data for k in plain] == [False, False, True, True]
    assert [k.copies for k in plain] == [False, False, True, False]
    assert [reuses_inputs(k) for k in plain] == [True, False, False, False]
    assert [k.written for k in plain] == [(2,), (1,), (1,), (0,)]
    assert Matmul().optional_dims == 1
    assert named("max").optional_dims == 0
    for label, kind_class in labels().items():
        if kind_class.is_variadic:
            continue
        assert kind_of_label(kind_class, label, 2, {}).label == label
    assert Fill(1, "lowest").number(S32) == -(2**31)


@pytest.mark.parametrize(
    ("kind", "dtypes", "message"),
    [
        (Matmul(), (F32, F32), r"matmul has 3 operands \(lhs,rhs,out\) but 2 dtypes"),
        (
            Matmul(),
            (BF16,),
            "matmul has no product bf16,bf16,bf16; use factors of f32, bf16 or f16",
        ),
        (Matmul(True), (F32, S32, F32), "matmul_accum has no product f32,s32,f32"),
        (named("max"), (F32, S32), "max has no dtype s32; use f32, bf16 or f16"),
        (named("max_accum"), (BF16,), "a reduction, which has no bf16: it is computed"),
        (named("exp"), (S32,), "'exp' is no function of s32; those are abs, add, copy"),
        (Move(2), (F32, S32), "move has no cast from f32 to s32"),
    ],
)
def test_dtypes_that_have_no_meaning(
    kind: Kind, dtypes: tuple[Dtype, ...], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        kind.check_dtypes(complete_mix(kind, dtypes))


def test_a_fill_of_another_value() -> None:
    with pytest.raises(
        SpecError, match="no value 'one'; use one of zero, lowest, highest"
    ):
        Fill(2, "one")


@pytest.mark.parametrize("kind", instances(), ids=str)
def test_inputs_come_before_outputs_and_the_examples_are_of_the_kind(
    kind: Kind,
) -> None:
    written = [operand.is_written for operand in kind.operands]
    assert written == sorted(written)
    assert len({operand.name for operand in kind.operands}) == len(written)
    assert type(
        parse_spec(kind.example, Limits.of(vrf=16, l1=512, l2=16384)).kind
    ) is type(kind)
    assert any(type(kind) is listed for listed in KINDS)
    if accumulating(kind) is not None:
        assert accumulating(kind).accumulates
        assert accumulating(kind).dims == kind.dims


@pytest.mark.parametrize("kind", instances(), ids=str)
def test_a_fill_then_the_accumulating_form_is_the_reduction(kind: Kind) -> None:
    if accumulating(kind) is None:
        return
    sizes = tuple(range(3, 3 + len(kind.dims)))
    dtypes = legal_mixes(kind)[0]
    goal = spec(kind, sizes, dtypes)
    (out,) = kind.written
    inputs = goal.random(np.random.default_rng(1))
    fill = spec(
        Fill(len(goal.shape(out)), neutral_of(kind, out)),
        goal.shape(out),
        (dtypes[out],),
    )
    adding = spec(accumulating(kind), sizes, dtypes)
    assert np.array_equal(
        adding.evaluate(*inputs, fill.evaluate()), goal.evaluate(*inputs)
    )


ROUNDING = [k for k in instances() if k.as_graph is None and k.reductions]


@pytest.mark.parametrize("kind", ROUNDING, ids=str)
def test_the_definition_in_f64_is_the_definition(kind: Kind) -> None:
    dtypes = (F32,) * len(kind.operands)
    if dtypes not in legal_mixes(kind):
        return
    goal = spec(kind, tuple(range(2, 2 + len(kind.dims))), dtypes)
    inputs = goal.random(np.random.default_rng(1))
    wide = tuple(array.astype(np.float64) for array in inputs)
    ((number, _),) = reference(kind, goal.sizes, wide)
    assert np.array_equal(number, goal.evaluate(*inputs))

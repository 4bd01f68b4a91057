"""Maps of each function, as kernels, have the bits of the function's definition."""

import pickle

import numpy as np
import pytest

import morello
from morello.machine import parse_target
from morello.spec.elements.arrays import ArrayElements
from morello.spec.functions import ROWS
from morello.spec.graphs.expression import Constant

pytestmark = pytest.mark.usefixtures("one_database")

SPECIAL = [0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan]
NAMES = sorted(ROWS.keys() - {"add", "copy", "div", "mul", "sub"})


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["avx2", "native"])
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_has_the_bits_of_the_definition(name: str, target: str) -> None:
    row = ROWS[name]
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 32, 61, np.uint32).view(np.float32)
    x = np.concatenate([np.asarray(SPECIAL * row.count, np.float32), drawn])
    inputs = [x, *(rng.permutation(x) for _ in range(row.count - 1))]
    arguments = ",".join(f"x{i}[m]" for i in range(row.count))
    text = f"compose:{x.size}:f32:graph=y[m]={name}({arguments})"
    kernel = morello.compile(text, target=parse_target(target), threads=1, time_limit=5)
    result = kernel(*inputs)
    with np.errstate(all="ignore"):
        wanted = row.code(ArrayElements(()), *inputs)
    same = result.view(np.int32) == wanted.view(np.int32)
    assert np.all(same | (np.isnan(result) & np.isnan(wanted)))


@pytest.mark.parametrize("call", ["mul(x[m],{})", "where(x[m],{},x[m])"])
def test_zeros_of_both_signs_are_two_numbers(call: str) -> None:
    x = np.array([1, -1, 2], np.float32)
    for zero in (0.0, -0.0, 0.0):
        text = f"compose:3:f32:graph=y[m]={call.format(zero)}"
        kernel = morello.compile(text, threads=1, time_limit=5)
        wanted = np.signbit(x * np.float32(zero) if "mul" in call else [zero] * 3)
        assert np.array_equal(np.signbit(kernel(x)), wanted)
        assert np.array_equal(np.signbit(kernel.spec.evaluate(x)), wanted)


def test_constants_are_equal_where_their_bits_are() -> None:
    zeros = {Constant(0.0), Constant(-0.0), Constant(-0.0)}
    assert len(zeros) == 2
    assert len({str(zero.number) for zero in zeros}) == 2
    assert sorted([Constant(1.0), Constant(-1.0), Constant(0.5)])[0] == Constant(-1.0)
    assert repr(Constant(-0.0)) == "Constant(number=-0.0)"
    assert pickle.loads(pickle.dumps(Constant(-0.0))) == Constant(-0.0)

"""Shapes and dtypes of a call from JAX, by themselves: without compiling anything."""

import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from morello.errors import ArgumentError
from morello.jax import function, handler
from morello.runtime.calls.parameter import Parameter

pytestmark = pytest.mark.quick

call: Any = importlib.import_module("morello.jax.call")

F32 = np.dtype(np.float32)
A = Parameter("a", F32, (1, 4, 6), ((4, 6),))
B = Parameter("b", F32, (1, 6, 8), ((6, 8),), views=(((8, 6), (1, 8)),))
BIAS = Parameter("bias", F32, (8,))
OUT = Parameter("out", F32, (1, 4, 8), ((4, 8),), is_output=True)
SUM = Parameter("sum", F32, (8,), is_output=True)


def of(*shapes: tuple[int, ...], dtype: Any = F32) -> list[Any]:
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("inputs", "shapes", "results"),
    [
        ((A, B), [(4, 6), (6, 8)], [(4, 8), (8,)]),
        ((A, B), [(1, 4, 6), (6, 8)], [(1, 4, 8), (8,)]),
        ((A, B), [(4, 6), (1, 6, 8)], [(1, 4, 8), (8,)]),
        ((A, BIAS), [(4, 6), (8,)], [(4, 8), (8,)]),
        ((A, BIAS), [(1, 4, 6), (8,)], [(1, 4, 8), (8,)]),
        ((BIAS,), [(8,)], [(1, 4, 8), (8,)]),
        ((), [], [(1, 4, 8), (8,)]),
    ],
)
def test_results_lack_the_batch_where_all_inputs_that_may_lack_it_do(
    inputs: tuple[Parameter, ...], shapes: Any, results: Any
) -> None:
    assert call._result_shapes("f", inputs, (OUT, SUM), of(*shapes)) == results


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (of((4, 6)), r"takes 2 arrays, 1 were given; call it with \(a, b\)"),
        (of((4, 6), (6, 8), (8,)), "takes 2 arrays, 3 were given"),
        (of((4, 6), (6, 8), dtype=np.int32), r"'a'.*int32\[4, 6\].*astype\('float32'"),
        (of((4, 6), (8, 6)), r"'b'.*\[8, 6\] was given; the operand lies transposed"),
        (of((4, 6), (8, 6), dtype=np.int32)[:0] + of((4, 6), (9, 6)), "of this shape"),
        (of((4,), (6, 8), dtype=np.int32), r"'a'.*int32\[4\] was given; give an array"),
        ([3, *of((6, 8))], "'a'.*class 'int'"),
    ],
)
def test_what_does_not_fit_is_named_with_its_remedy(arrays: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call._result_shapes("f", (A, B), (OUT,), arrays)


def test_shapes_as_words() -> None:
    assert handler._shapes(A).tolist() == [3, 1, 4, 6, 2, 4, 6]
    assert handler._shapes(BIAS).tolist() == [1, 8]


@pytest.mark.parametrize(
    ("leaf", "wanted", "dtype"),
    [
        (3, np.float32, "float32"),
        (True, np.int32, "int32"),
        (2.5, np.float32, "float32"),
        (2.5, np.int32, "float32"),
        (np.int8(3), np.float32, "int8"),
    ],
)
def test_numbers_of_python_have_the_dtype_that_is_wanted(
    leaf: Any, wanted: Any, dtype: str
) -> None:
    array = function._as_array(leaf, jax.ShapeDtypeStruct((), wanted))
    assert (array.dtype.name, float(array)) == (dtype, float(leaf))


def test_rules_of_reverse_mode_are_found_at_any_depth() -> None:
    plain = jax.custom_vjp(lambda x: x * 2)
    plain.defvjp(lambda x: (x, None), lambda _, g: (g,))

    def has(of: Any) -> bool:
        return function._has_reverse_rule(jax.make_jaxpr(of)(jnp.ones(3)).jaxpr)

    assert not has(jnp.tanh)
    assert not has(jax.jit(lambda x: jnp.tanh(x) + 1))
    assert has(plain)
    assert has(lambda x: jax.jit(lambda y: jax.jit(plain)(y) + 1)(x))
    assert has(lambda x: jax.lax.cond(x[0] > 0, jnp.tanh, plain, x))

"""Kernels in JAX programs compute what they compute alone, and refuse as XLA does."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import morello
import morello.jax
from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError, CompileError
from tests.child import python
from tests.compiler.test_parallel import CHEAP_FORK
from tests.quality.compiled import arguments, unsearched
from tests.threads import in_threads

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

SPECS = (
    "matmul:17x23x33:f32:lhs=[0,1,2,1p6]",
    "matmul:2x5x3x7:s32",
    "matmul_accum:9x33x20:s32",
    "matmul:9x16x20:bf16,bf16,f32",
    "matmul:9x16x20:f16,f16,f32",
    "max:33x65:f32",
    "move:20x33:f32:dst=[1,0]",
    "fill:9x17:s16:value=lowest",
    "relu:6x9:bf16",
    "compose:4x8:f32:graph=out y[m,n]=x[m,n]+a[n];z[m]=max(y)",
)
"""Of random programs: a workspace, a batch, an output that is added to, bf16, no input,
two outputs."""


def as_jax(array: np.ndarray[Any, Any]) -> Any:
    return jnp.asarray(array)


def call_arguments(kernel: Kernel, arrays: list[Any]) -> list[Any]:
    """The arguments of a call: the inputs, and what outputs that are added to hold."""
    pairs = list(zip(kernel.parameters, arrays, strict=True))
    inputs = [as_jax(a) for p, a in pairs if not p.is_output]
    return inputs + [as_jax(a) for p, a in pairs if p.accumulates]


def results(returned: Any) -> list[np.ndarray[Any, Any]]:
    return [
        np.asarray(f)
        for f in (returned if isinstance(returned, tuple) else (returned,))
    ]


def same(kernel: Kernel, returned: Any, expected: list[np.ndarray[Any, Any]]) -> bool:
    outputs = [
        array
        for parameter, array in zip(kernel.parameters, expected, strict=True)
        if parameter.is_output
    ]
    pairs = zip(results(returned), outputs, strict=True)
    return all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for one, other in pairs
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", SPECS)
def test_it_computes_what_the_kernel_does(text: str) -> None:
    kernel = unsearched(text)
    run = morello.jax.call(kernel)
    for seed, function in enumerate((run, jax.jit(lambda *x: run(*x)))):
        arrays, _ = arguments(kernel, seed)
        result = function(*call_arguments(kernel, arrays))
        kernel(*arrays)
        assert same(kernel, result, arrays)


def test_some_kernels_have_what_is_tested() -> None:
    kernels = [unsearched(text) for text in SPECS]
    outputs = [sum(p.is_output for p in kernel.parameters) for kernel in kernels]
    assert max(outputs) == 2
    assert min(kernel.workspace_bytes for kernel in kernels) == 0
    assert max(kernel.workspace_bytes for kernel in kernels) > 0


def test_an_output_that_is_added_to_is_not_changed_in_place() -> None:
    kernel = unsearched("matmul_accum:9x33x20:s32")
    run = morello.jax.call(kernel)

    @jax.jit
    def twice(lhs: Any, rhs: Any, held: Any) -> Any:
        return run(lhs, rhs, run(lhs, rhs, held)), held

    arrays, _ = arguments(kernel, 3)
    lhs, rhs, held = call_arguments(kernel, arrays)
    product = arrays[0] @ arrays[1]
    total, unchanged = twice(lhs, rhs, held)
    assert np.array_equal(total, arrays[2] + 2 * product)
    assert np.array_equal(unchanged, arrays[2])


def test_a_batch_of_one_may_be_left_out() -> None:
    run = morello.jax.call(unsearched("matmul:5x9x17:f32"))
    lhs, rhs = jnp.ones((5, 9)), jnp.ones((9, 17))
    assert run(lhs, rhs).shape == (5, 17)
    assert run(lhs[None], rhs[None]).shape == (1, 5, 17)
    assert run(lhs, rhs[None]).shape == (1, 5, 17)


def test_in_a_program_with_other_operations() -> None:
    run = morello.jax.call(unsearched("matmul:8x8x8:f32"))

    @jax.jit
    def program(x: Any, y: Any) -> Any:
        return run(run(x, y) + 1, y.T) * 2

    rng = np.random.default_rng(0)
    x, y = rng.integers(-4, 5, (2, 8, 8)).astype(np.float32)
    assert np.array_equal(program(x, y), ((x @ y + 1) @ y.T) * 2)


def test_vmap_calls_it_for_each() -> None:
    run = morello.jax.call(unsearched("matmul:8x8x8:f32"))
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (3, 8, 8)).astype(np.float32)
    y = rng.integers(-4, 5, (8, 8)).astype(np.float32)
    assert np.array_equal(jax.vmap(run, (0, None))(x, y), x @ y)


def test_a_gradient_is_given_by_custom_vjp() -> None:
    run = morello.jax.call(unsearched("matmul:8x8x8:f32"))
    product = jax.custom_vjp(run)
    product.defvjp(
        lambda x, y: (run(x, y), (x, y)),
        lambda residuals, g: (run(g, residuals[1].T), run(residuals[0].T, g)),
    )
    rng = np.random.default_rng(0)
    x, y = rng.integers(-4, 5, (2, 8, 8)).astype(np.float32)
    gradients = jax.jit(jax.grad(lambda x, y: product(x, y).sum(), (0, 1)))(x, y)
    wanted = jax.grad(lambda x, y: (x @ y).sum(), (0, 1))(x, y)
    for one, other in zip(gradients, wanted, strict=True):
        assert np.array_equal(one, other)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x, y: run(x, y).sum())(x, y)


def test_kernels_with_threads() -> None:
    kernel = morello.compile("matmul:49x8x24", target=CHEAP_FORK, threads=2)
    assert kernel.threads == 2
    run = morello.jax.call(kernel)
    arrays, expected = arguments(kernel, 0)
    assert same(kernel, run(*call_arguments(kernel, arrays)), expected)


def test_many_threads_call_one_kernel() -> None:
    kernel = unsearched("matmul:17x23x33:f32:lhs=[0,1,2,1p6]")
    assert kernel.workspace_bytes
    run = morello.jax.call(kernel)
    cases = [arguments(kernel, seed) for seed in range(4)]

    def work(case: tuple[list[Any], list[Any]]) -> bool:
        arrays, expected = case
        inputs = call_arguments(kernel, arrays)
        return all(same(kernel, run(*inputs), expected) for _ in range(100))

    assert all(in_threads(work, cases))


@pytest.mark.parametrize(
    ("shapes", "dtype", "words"),
    [
        ([(1, 5, 9), (1, 9, 16)], "f4", r"'rhs' .* float32\[1, 9, 16\] was given"),
        ([(5, 9), (9, 17)], "i4", r"int32\[5, 9\] was given; write x\.astype"),
        ([(5, 9)], "f4", r"takes 2 arrays, 1 were given; call it with \(lhs, rhs\)"),
    ],
)
def test_what_does_not_fit_is_refused_while_traced(
    shapes: list[tuple[int, ...]], dtype: str, words: str
) -> None:
    run = morello.jax.call(unsearched("matmul:5x9x17:f32"))
    with pytest.raises(ArgumentError, match=words):
        jax.jit(run)(*(jnp.ones(shape, dtype) for shape in shapes))


def test_a_transposed_operand_is_named() -> None:
    run = morello.jax.call(unsearched("matmul:5x9x17:f32:rhs=[0,2,1]"))
    with pytest.raises(ArgumentError, match=r"lies transposed: write x\.T"):
        run(jnp.ones((5, 9)), jnp.ones((9, 17)))


@pytest.mark.parametrize(
    ("shapes", "dtype", "words"),
    [
        ([(5, 9), (9, 16)], "f4", "input 'rhs' of matmul:5x9x17:f32 is a float32"),
        ([(5, 9), (9, 17)], "i4", r"input 'lhs' .* of \(1, 5, 9\) or \(5, 9\)"),
        ([(5, 9)], "f4", "takes 2 arrays and fills 1"),
        ([(45,), (9, 17)], "f4", "input 'lhs'"),
    ],
)
def test_programs_from_elsewhere_are_refused_by_xla(
    shapes: list[tuple[int, ...]], dtype: str, words: str
) -> None:
    """A program that was exported may call the kernel with anything."""
    kernel = unsearched("matmul:5x9x17:f32")
    morello.jax.call(kernel)
    name = morello.jax.target_name(kernel)
    run = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((5, 17), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match=f"INVALID_ARGUMENT.*{words}"):
        run(*(jnp.ones(shape, dtype) for shape in shapes))


def test_a_wrong_result_is_refused_by_xla() -> None:
    kernel = unsearched("matmul:5x9x17:f32")
    morello.jax.call(kernel)
    name = morello.jax.target_name(kernel)
    run = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((17, 5), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="output 'out'"):
        run(jnp.ones((5, 9)), jnp.ones((9, 17)))


def test_rows_with_gaps_are_refused() -> None:
    with pytest.raises(CompileError, match=r"'lhs' .* has gaps between its rows"):
        morello.jax.call(unsearched("matmul:5x9x17:f32:lhs=ld12"))


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(ArgumentError, match="'kernel' is str, not a kernel"):
        morello.jax.call("matmul:5x9x17:f32")


def test_an_exported_program_finds_the_kernel_by_its_name() -> None:
    kernel = unsearched("matmul:8x8x8:f32")
    run = morello.jax.call(kernel)
    shape = jax.ShapeDtypeStruct((8, 8), np.float32)
    name = morello.jax.target_name(kernel)
    checks = [jax.export.DisabledSafetyCheck.custom_call(name)]
    program = jax.export.export(jax.jit(run), disabled_checks=checks)(shape, shape)
    data = program.serialize()
    x = np.arange(64, dtype=np.float32).reshape(8, 8) % 9 - 4
    assert np.array_equal(jax.export.deserialize(data).call(x, x.T), x @ x.T)


def test_a_program_is_traced_for_any_size_of_a_range() -> None:
    run = morello.jax.call(morello.compile("matmul:1..6x16x1..3:f32", threads=1))
    assert jax.jit(run)(jnp.ones((2, 16)), jnp.ones((16, 3))).shape == (2, 3)
    for rows in range(1, 7):
        for columns in range(1, 4):
            x = jnp.arange(rows * 16, dtype=np.float32).reshape(rows, 16) % 7
            w = jnp.arange(columns * 16, dtype=np.float32).reshape(16, columns) % 5
            assert np.array_equal(run(x, w), np.asarray(x) @ np.asarray(w))


def test_an_output_of_any_size_is_added_to() -> None:
    run = morello.jax.call(morello.compile("matmul_accum:1..4x5x9:s32", threads=1))
    w = np.arange(45, dtype=np.int32).reshape(5, 9)
    for rows in range(1, 5):
        x = np.arange(rows * 5, dtype=np.int32).reshape(rows, 5)
        before = np.full((rows, 9), 3, np.int32)
        held = jnp.asarray(before)
        assert np.array_equal(run(x, w, held), before + x @ w)
        assert np.array_equal(held, before)


def test_a_program_is_exported_with_a_symbol() -> None:
    kernel = morello.compile("matmul:2..8/2x16x8:f32", threads=1)
    run, name = morello.jax.call(kernel), morello.jax.target_name(kernel)
    (rows,) = jax.export.symbolic_shape("b")
    shapes = [jax.ShapeDtypeStruct(s, np.float32) for s in ((rows, 16), (16, 8))]
    checks = [jax.export.DisabledSafetyCheck.custom_call(name)]
    program = jax.export.export(jax.jit(run), disabled_checks=checks)(*shapes)
    again = jax.export.deserialize(program.serialize())
    x = np.arange(128, dtype=np.float32).reshape(8, 16) % 9 - 4
    for count in (2, 4, 8):
        assert np.array_equal(again.call(x[:count], x.T), x[:count] @ x.T)
    for count in (1, 3):
        with pytest.raises(jax.errors.JaxRuntimeError, match="m is 2 to 8 in steps"):
            again.call(x[:count], x.T)


def test_sizes_outside_of_a_range_are_refused_while_tracing() -> None:
    run = morello.jax.call(morello.compile("matmul:1..6x16x8:f32", threads=1))
    with pytest.raises(ArgumentError, match="m is 7, and the kernel takes 1 to 6"):
        jax.jit(run)(jnp.ones((7, 16)), jnp.ones((16, 8)))
    with pytest.raises(ArgumentError, match=r"\(m, 16\), m from 1 to 6, but"):
        run(jnp.ones((5, 15)), jnp.ones((16, 8)))


def normalized(x: Any, weights: Any) -> Any:
    y = jax.nn.gelu(x @ weights["w"] + weights["b"])
    return {"y": y - y.mean(axis=1, keepdims=True)}


@pytest.mark.sampled(3)
def test_functions_of_any_batch_have_derivatives() -> None:
    (batch,) = jax.export.symbolic_shape("b")
    weights = {"w": jnp.linspace(-1, 1, 48).reshape(16, 3), "b": jnp.ones(3)}
    shape = jax.ShapeDtypeStruct((batch, 16), np.float32)
    run = morello.jax.compile(
        normalized, shape, weights, ranges={"b": "1..5"}, threads=1
    )

    def loss(function: Any, weights: Any, x: Any) -> Any:
        return (function(x, weights)["y"] ** 2).sum()

    for rows in range(1, 6):
        x = jnp.sin(jnp.arange(rows * 16.0)).reshape(rows, 16)
        values = run(x, weights)["y"], normalized(x, weights)["y"]
        np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)
        ours, wanted = (
            jax.grad(lambda w, f=f, x=x: loss(f, w, x))(weights)["w"]
            for f in (run, normalized)
        )
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(ArgumentError, match="b is 6, and the kernel takes 1 to 5"):
        run(jnp.ones((6, 16)), weights)


def test_a_symbol_without_a_range_is_refused() -> None:
    (batch,) = jax.export.symbolic_shape("b")
    shape = jax.ShapeDtypeStruct((batch, 16), np.float32)
    with pytest.raises(ArgumentError, match="is b, of which no range is given"):
        morello.jax.compile(jnp.tanh, shape)


def test_without_jax_it_says_what_to_install() -> None:
    run = python("-c", "import sys; sys.modules['jax'] = None\nimport morello.jax")
    assert "ImportError: morello.jax needs the package jax: pip install" in run.stderr


def attend(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("qhd,khd->hqk", q, k) / 2.0
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores, axis=-1), v)


HELD = np.arange(12, dtype=np.float32).reshape(3, 4) % 5 - 2


def several(x: Any) -> Any:
    y = jnp.tanh(x @ HELD)
    return y, y.sum(axis=1)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [(attend, [(6, 2, 4)] * 3), (several, [(5, 3)])],
    ids=["attention", "several"],
)
def test_a_function_of_jax_is_compiled(function: Any, shapes: list[Any]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    run = morello.jax.compile(function, *arrays, threads=1, time_limit=0.5)
    for result in (run(*arrays), jax.jit(lambda *x: run(*x))(*arrays)):
        wanted = function(*arrays)
        for one, other in zip(results(result), results(wanted), strict=True):
            assert np.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_compiled_function_has_the_gradient_of_jax() -> None:
    def function(x: Any, w: Any) -> Any:
        return jnp.tanh(x @ w)

    x, w = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    run = morello.jax.compile(function, x, w, threads=1)
    for which in (0, 1):
        result, wanted = (
            jax.grad(lambda x, w, f=f: (f(x, w) ** 2).sum(), which)(x, w)
            for f in (run, function)
        )
        assert np.allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_a_function_that_has_no_spec_is_refused() -> None:
    with pytest.raises(morello.MorelloError, match=r"stablehlo\.fft: "):
        morello.jax.compile(lambda x: jnp.fft.fft(x).real, jnp.ones((3, 4)))


def test_a_function_of_trees_is_compiled() -> None:
    def layer(weights: dict[str, Any], x: Any, unread: Any) -> dict[str, Any]:
        del unread
        return {"y": jnp.tanh(x @ weights["w"]), "twice": [x * 2]}

    rng = np.random.default_rng(0)
    weights = {"w": jnp.asarray(rng.standard_normal((8, 4), np.float32))}
    x = jnp.asarray(rng.standard_normal((3, 8), np.float32))
    run = morello.jax.compile(layer, weights, x, x, threads=1, time_limit=0.5)
    result, wanted = run(weights, x, x), layer(weights, x, x)
    np.testing.assert_allclose(result["y"], wanted["y"], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(result["twice"][0], wanted["twice"][0])
    gradient = jax.grad(lambda w: run(w, x, x)["y"].sum())(weights)
    assert gradient["w"].shape == (8, 4)
    with pytest.raises(ArgumentError, match="layer was compiled for arguments"):
        run({"v": weights["w"]}, x, x)


def test_equal_code_of_other_shapes_and_dtypes_is_another_function() -> None:
    shapes = (12,), (3, 4), (4, 3)
    for dtype in (np.int8, np.uint8):
        for shape in shapes:
            x = jnp.arange(12, dtype=dtype).reshape(shape)
            turned = morello.jax.compile(lambda x: x.reshape(2, 6).T, x, threads=1)
            result = turned(x)
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, x.reshape(2, 6).T)

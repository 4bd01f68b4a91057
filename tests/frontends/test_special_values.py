"""Functions of infinities, zeros of both signs, NaN, huge and denormal numbers, as the
framework of each front end defines them: kernels are run on all of these."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morello

pytestmark = [
    pytest.mark.usefixtures("one_database"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

Array = np.ndarray[Any, Any]
Functions = dict[str, Callable[..., Any]]

LARGEST = float(np.finfo(np.float32).max)
SIZES = [0, 1e-42, 2e-38, 1e-20, 1e-6, 0.3, 0.5, 1, 1.5, 2, 3, 7, 10, 40, 84, 90, 104]
SIZES += [3e4, 1e20, LARGEST, np.inf]
X = np.array([*SIZES, *(-np.array(SIZES)), np.nan], np.float32)
A, B = (a.copy() for a in np.broadcast_arrays(X[:, None], X[None]))
ROWS = np.array(
    [
        [1, 2, np.nan, 3],
        [np.inf, 1, 2, 3],
        [-np.inf, 1, 2, 3],
        [-np.inf, -np.inf, -np.inf, -np.inf],
        [np.inf, -np.inf, 1, 2],
        [200, -200, 1, 0],
        [-300, -301, -302, -303],
        [3e38, 3e38, 1, 1],
        [1e-15, 1e-15, 0, 0],
        [0.0, -0.0, 0.0, -0.0],
        [1e4, 1e4 + 1, 1e4 + 2, 1e4],
    ],
    np.float32,
)
GIVEN = {"unary": (X,), "binary": (A, B), "rows": (ROWS,)}

POWERS = (0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 1 / 3, 1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 17.0)
CORRECTIONS = (0, 1, 3, 4, 5)
"""Of the variance of 4."""

SIGNLESS = (
    *("max", "min", "amax", "amin", "fmax", "fmin", "relu", "clip", "hard"),
    *("elu", "celu", "selu"),
)
"""Functions of which frameworks leave open which of two zeros is the greater, or which
they make of those."""

LEAST = {"logaddexp": 1e-7, "gelu": 1e-6, "power -": 1e-38}
"""The least difference that counts, of functions that are sums of what cancels, or
that divide by what overflows."""


def powers(power: Callable[..., Any]) -> Functions:
    return {f"power {p:.3g}": functools.partial(power, p=p) for p in POWERS}


def named(module: Any, names: str, **options: Any) -> Functions:
    return {
        name: functools.partial(getattr(module, name), **options)
        for name in names.split()
    }


def is_denormal(array: Array) -> Array:
    return (array != 0) & (np.abs(array) < 2.0**-126)


def wrong(
    functions: Functions,
    inputs: tuple[Array, ...],
    results: Any,
    wanted: Any,
    *,
    denormal: bool = True,
) -> Iterator[str]:
    """What differs: values, dtypes, shapes, and signs of zeros.

    Args:
        denormal: whether the framework has denormal numbers; XLA takes them for 0.
    """
    for name, one, other in zip(functions, results, wanted, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            yield f"{name}: {one.dtype}{one.shape}, not {other.dtype}{other.shape}"
            continue
        least = next((n for key, n in LEAST.items() if name.startswith(key)), 1e-44)
        least = least if denormal else max(least, 1e-36)
        same = np.isclose(one, other, rtol=2e-5, atol=least, equal_nan=True)
        if other.dtype.kind == "f" and not name.startswith(SIGNLESS):
            same &= (np.signbit(one) == np.signbit(other)) | (other != 0)
        if not denormal and other.shape == inputs[0].shape:
            same |= np.logical_or.reduce([is_denormal(array) for array in inputs])
        for place in np.argwhere(~same)[:2]:
            at = tuple(place)
            values = [a[at] if one.shape == a.shape else a[at[0]] for a in inputs]
            yield f"{name} of {values}: {one[at]}, not {other[at]}"


def jax_functions(jax: Any) -> dict[str, Functions]:
    jnp, nn = jax.numpy, jax.nn
    unary = {
        **named(
            jnp,
            "exp exp2 expm1 log log1p log2 log10 sqrt square abs sign floor ceil round "
            "trunc reciprocal negative sin cos tanh isnan isinf isfinite nan_to_num",
        ),
        **named(
            nn,
            "relu relu6 sigmoid softplus soft_sign silu mish log_sigmoid leaky_relu "
            "hard_sigmoid hard_tanh elu celu selu gelu",
        ),
        "rsqrt": jax.lax.rsqrt,
        "erf": jax.scipy.special.erf,
        "clip": lambda x: jnp.clip(x, -1, 1),
        "guarded log": lambda x: jnp.where(x > 0, jnp.log(x), 0.0),
        "guarded root": lambda x: jnp.where(x >= 0, jnp.sqrt(x), -1.0),
        "guarded quotient": lambda x: jnp.where(x == 0, 0.0, 1 / x),
        "power of a base": lambda x: jnp.power(0.5, x),
        **powers(lambda x, p: x**p),
    }
    binary = named(
        jnp,
        "add subtract multiply divide maximum minimum power hypot logaddexp logaddexp2 "
        "copysign heaviside greater less_equal equal fmax fmin arctan2",
    )
    rows = {
        **named(
            jnp,
            "sum mean max min std prod ptp nansum nanmax any all argmax argmin cumsum",
            axis=-1,
        ),
        **named(nn, "softmax log_softmax logsumexp", axis=-1),
        "norm": functools.partial(jnp.linalg.norm, axis=-1),
        "largest": lambda x: jnp.linalg.norm(x, jnp.inf, axis=-1),
        "mean of some": lambda x: jnp.mean(x, axis=-1, where=x > 1e9),
        **{
            f"variance, {c}": functools.partial(jnp.var, axis=-1, ddof=c)
            for c in CORRECTIONS
        },
    }
    return {"unary": unary, "binary": binary, "rows": rows}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("which", GIVEN)
def test_of_jax(which: str) -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    functions, inputs = jax_functions(jax)[which], GIVEN[which]

    def program(*arrays: Any) -> Any:
        return tuple(f(*arrays) for f in functions.values())

    program_of_jax = jax.jit(program)
    model = morello.from_mlir(program_of_jax.lower(*inputs).as_text(), fallback=True)
    results = model.compile(threads=1, time_limit=0.2)(*inputs)
    wanted = program_of_jax(*inputs)
    assert not [*wrong(functions, inputs, results, wanted, denormal=False)]


def torch_functions(torch: Any) -> dict[str, Functions]:
    functional = torch.nn.functional
    unary = {
        **named(
            torch,
            "exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square abs sign floor ceil "
            "round trunc frac reciprocal neg sin cos tanh sigmoid erf nan_to_num "
            "isfinite isinf isnan",
        ),
        **named(
            functional,
            "relu relu6 softplus softsign silu mish logsigmoid leaky_relu hardsigmoid "
            "hardtanh elu celu selu",
        ),
        # Eager's own is NaN of inf.
        "gelu": lambda x: functional.gelu(x.clamp(max=1e20)),
        "clip": lambda x: x.clamp(-1, 1),
        "equal to itself": lambda x: torch.where(x == x, x, 0.0),
        "guarded log": lambda x: torch.where(x > 0, x.log(), 0.0),
        "guarded quotient": lambda x: torch.where(x == 0, 0.0, 1 / x),
        "power of a base": lambda x: torch.pow(0.5, x),
        **powers(lambda x, p: x**p),
    }
    binary = named(
        torch,
        "add sub mul div maximum minimum pow hypot logaddexp fmax fmin atan2 heaviside "
        "logaddexp2 xlogy",
    )
    # Eager's own is NaN where the quotient overflows.
    binary |= {
        name: lambda x, y, f=f: torch.where((x / y).isfinite(), f(x, y), 0.0)
        for name, f in named(torch, "fmod remainder").items()
    }
    binary["quotient"] = functools.partial(torch.div, rounding_mode="trunc")
    rows = {
        **named(
            torch,
            "sum mean amax amin prod softmax log_softmax logsumexp nansum cumsum "
            "cumprod argmax argmin count_nonzero",
            dim=-1,
        ),
        "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
        "largest": lambda x: torch.linalg.vector_norm(x, torch.inf, dim=-1),
        **{
            f"variance, {c}": functools.partial(torch.var, dim=-1, correction=c)
            for c in CORRECTIONS
        },
        "deviation": lambda x: x.std(-1, correction=9),
        "variance of all": lambda x: torch.var_mean(x[:1, :1])[0],
    }
    return {"unary": unary, "binary": binary, "rows": rows}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("which", GIVEN)
def test_of_torch(which: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    functions, inputs = torch_functions(torch)[which], GIVEN[which]

    def program(*tensors: Any) -> Any:
        return tuple(f(*tensors) for f in functions.values())

    tensors = [torch.from_numpy(array) for array in inputs]
    options = {"wait": True, "threads": 1, "time_limit": 0.2}
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="morello", options=options)
    with torch.no_grad():
        results, wanted = compiled(*tensors), program(*tensors)
    assert not [*wrong(functions, inputs, results, wanted)]


NUMPY: dict[str, Functions] = {
    "unary": {
        **named(
            np,
            "exp exp2 expm1 log log1p log2 log10 sqrt square abs sign floor ceil rint "
            "trunc reciprocal negative sin cos tanh",
        ),
        "guarded log": lambda x: np.where(x > 0, np.log(x), 0.0),
        **powers(lambda x, p: x**p),
    },
    "binary": named(np, "add subtract multiply divide maximum minimum power logaddexp"),
    "rows": {
        **named(np, "sum mean max min std", axis=-1),
        "norm": functools.partial(np.linalg.norm, axis=-1),
        "variance, 1": functools.partial(np.var, axis=-1, ddof=1),
    },
}


@pytest.mark.sampled(12)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("which", "name"), [(w, n) for w in NUMPY for n in NUMPY[w]])
def test_of_numpy(which: str, name: str) -> None:
    function, inputs = NUMPY[which][name], GIVEN[which]
    compiled = morello.jit(function, threads=1, time_limit=0.2)
    results, wanted = compiled(*inputs), function(*inputs)
    assert not [*wrong({name: function}, inputs, [results], [wanted])]


def test_pads_keep_the_sign_of_zero() -> None:
    text = """func.func @f(%x: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = stablehlo.constant dense<-0.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %n, low = [1], high = [1], interior = [0]
      : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.pad %x, %z, low = [1], high = [1], interior = [0]
      : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}"""
    compiled = morello.from_mlir(text).compile(threads=1)
    negative, positive = compiled(np.array([-0.0, 1.0], np.float32))
    assert np.signbit(negative).tolist() == [True, True, False, True]
    assert np.signbit(positive).tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("op", "number", "negative"),
    [("addf", "0.0", False), ("addf", "-0.0", True), ("subf", "0.0", True)],
)
def test_adding_a_zero_is_what_ieee_754_says(
    op: str, number: str, negative: bool
) -> None:
    """In StableHLO upstream drops such an addition before the program is read."""
    text = f"""func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {{
  %n = arith.constant dense<{number}> : tensor<3xf32>
  %y = arith.{op} %x, %n : tensor<3xf32>
  return %y : tensor<3xf32>
}}"""
    compiled = morello.from_mlir(text).compile(threads=1)
    result = compiled(np.array([-0.0, 0.0, -1.0], np.float32))
    assert np.signbit(result).tolist() == [negative, False, True]


@pytest.mark.parametrize(
    ("op", "start", "wanted"),
    [
        ("maxnumf", "0xFF800000", [3, -np.inf, -5]),
        ("minnumf", "0x7F800000", [1, np.inf, -np.inf]),
        ("maximumf", "0xFF800000", [np.nan, np.nan, np.nan]),
    ],
)
def test_reductions_leave_nan_out_where_their_op_does(
    op: str, start: str, wanted: list[float]
) -> None:
    read = morello.from_mlir(f"""module {{
func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {{
  %c = arith.constant {start} : f32
  %e = tensor.empty() : tensor<3xf32>
  %i = linalg.fill ins(%c : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.reduce {{ arith.{op} }} ins(%x : tensor<3x4xf32>)
    outs(%i : tensor<3xf32>) dimensions = [1]
  return %r : tensor<3xf32>
}}
}}""")
    nan = np.nan
    x = np.array([[1, nan, 3, 2], [nan] * 4, [-np.inf, nan, -5, -7]], np.float32)
    right = np.array(wanted, np.float32)
    np.testing.assert_array_equal(read.evaluate(x), right)
    np.testing.assert_array_equal(read.compile(threads=1)(x), right)

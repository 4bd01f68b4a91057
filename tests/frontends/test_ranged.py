"""Models that take any size of their outermost dimension: `ranged`."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello import nn
from morello.errors import ArgumentError
from morello.frontends.model import Model, model_of
from morello.frontends.ranged import probe_sizes, ranged
from morello.frontends.refusals import ModelError
from morello.tracing.jit import TracedFunction, _shapes
from tests.guarded import check_canaries, check_in_child, guarded_array

ROWS = range(2, 7)


def parts(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Model:
    """A function as several parts, as front ends read programs."""
    pattern, objects = _shapes(function, shapes, {})
    tensors, _ = TracedFunction(function, pattern, objects).program(holds=True)
    return model_of(tensors)


def block(x: Any, w: Any, b: Any, v: Any) -> Any:
    """Calls one part twice, and norms rows between."""
    y = x + nn.gelu(x @ w + b) @ v
    y = y - y.mean(-1, keepdims=True)
    return y + nn.gelu(y @ w + b) @ v


WEIGHTS = (4, 8), (8,), (8, 4)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape, np.float32)


def test_every_size_is_right_and_touches_nothing_else() -> None:
    model = ranged(lambda s: parts(block, (s, 4), *WEIGHTS), ROWS, "rows")
    assert model.specs("avx2")[0].startswith("gelu_matmul:2..6")
    kernel = model.compile(target="avx2", threads=1, time_limit=60)
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy.parameters == kernel.parameters

    def run() -> None:
        rng = np.random.default_rng(1)
        weights = [numbers(rng, *shape) for shape in WEIGHTS]
        for rows in ROWS:
            x = numbers(rng, rows, 4)
            wanted = parts(block, x.shape, *WEIGHTS).evaluate(x, *weights)
            for side in ("start", "end"):
                own = [
                    guarded_array(array, name, side)  # type: ignore[arg-type]
                    for array, name in ((x, "x"), (np.zeros_like(x), "out"))
                ]
                for made in (kernel(own[0], *weights, out=own[1]), copy(x, *weights)):
                    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)
                for array in own:
                    check_canaries(array)

    check_in_child(run)
    weights = [np.zeros(shape, np.float32) for shape in WEIGHTS]
    with pytest.raises(ArgumentError, match="rows is 7, and the kernel takes 2 to 6"):
        kernel(np.zeros((7, 4), np.float32), *weights)


@pytest.mark.quick
@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (x @ w).mean(0),
        lambda x, w: x.T @ x,
        lambda x, w: np.transpose(x) + 1.0,
        lambda x, w: (x @ w).reshape(-1)[:12],
        lambda x, w: (x @ w) * x.shape[0],
    ],
    ids=["mean", "columns", "transpose", "flat", "number"],
)
def test_what_depends_on_the_size_otherwise_is_refused(function: Any) -> None:
    with pytest.raises(ModelError, match="depends on rows, which each call says"):
        ranged(lambda s: parts(function, (s, 4), (4, 6)), ROWS, "rows")


@pytest.mark.quick
def test_sizes_at_which_programs_are_compared() -> None:
    assert probe_sizes(range(2, 10)) == (9, 11, 13)
    assert probe_sizes(range(1, 65)) == (64, 67, 71)


def test_a_program_of_settled_sizes_stays_as_it_is() -> None:
    model = ranged(lambda _: parts(lambda w: w + 1.0, (3, 4)), ROWS, "rows")
    assert model.tensors.size is None
    array = np.ones((3, 4), np.float32)
    kernel = morello.compile(model, target="avx2", threads=1)
    np.testing.assert_array_equal(kernel(array), array + 1)

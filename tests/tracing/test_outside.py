"""What a traced function reads besides its arguments is never old."""

import contextvars
import dataclasses
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morello

Array = np.ndarray[Any, Any]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
WEIGHT = np.ones(4, np.float32)
SCALE = 2.0
PLACES = [1, 0]
VARIABLE = contextvars.ContextVar("VARIABLE", default=1.0)
MODULE = types.ModuleType("settings")


class Config:
    scale = 2.0


@dataclasses.dataclass
class Layer:
    weight: Array
    scale: float = 2.0
    power: int = 1

    @property
    def twice(self) -> float:
        return self.scale * 2

    def helper(self, x: Any) -> Any:
        return x * self.twice

    def __call__(self, x: Any) -> Any:
        return (self.helper(x) + self.weight) ** self.power


def helper(x: Any, by: Any = None) -> Any:
    return x * SCALE + (0.0 if by is None else by)


def numbers_of_an_object() -> Iterator[Callable[..., Any]]:
    layer = Layer(np.ones(4, np.float32))
    yield lambda x: layer(x)
    layer.scale = 3.0
    yield lambda: None
    layer.power = 2
    yield lambda: None
    layer.weight = np.full(4, 5, np.float32)
    yield lambda: None
    layer.weight[1] = 7
    yield lambda: None
    layer.weight = np.full((3, 4), 5, np.float32)
    yield lambda: None
    layer.helper = lambda x: x - 1  # type: ignore[method-assign]


def objects_of_a_list() -> Iterator[Callable[..., Any]]:
    layers = [Layer(np.ones(4, np.float32)), Layer(np.zeros(4, np.float32))]

    def run(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    yield run
    layers[1].scale = 0.5
    yield run
    layers.append(Layer(np.ones(4, np.float32)))
    yield run
    layers[0] = layers[1]


def a_dictionary() -> Iterator[Callable[..., Any]]:
    held = {"w": np.ones(4, np.float32), "s": 2.0}
    yield lambda x: x * held["w"] * held.get("s", 1.0) + held.get("b", 0.0)
    held["s"] = 4.0
    yield lambda: None
    held["w"] = np.full(4, 3, np.float32)
    yield lambda: None
    held["w"][2] = 8
    yield lambda: None
    held["b"] = 1.0


def globals_and_helpers() -> Iterator[Callable[..., Any]]:
    global SCALE, WEIGHT, helper
    scale, weight, before = SCALE, WEIGHT, helper
    yield lambda x: helper(x) + WEIGHT
    SCALE = 3.0
    yield lambda: None
    WEIGHT = np.full(4, 3, np.float32)
    yield lambda: None
    WEIGHT[0] = -1
    yield lambda: None
    helper = lambda x: x  # type: ignore[assignment]  # noqa: E731
    yield lambda: None
    SCALE, WEIGHT, helper = scale, weight, before


def a_closure() -> Iterator[Callable[..., Any]]:
    scale, table = 2.0, np.ones(4, np.float32)

    def run(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * scale

        return inner(x) * table

    yield run
    scale = 3.0
    yield run
    table = np.full(4, 2, np.float32)


def default_arguments() -> Iterator[Callable[..., Any]]:
    held = [2.0]

    def run(x: Any, s: Any = held, *, w: Any = WEIGHT) -> Any:
        return x * s[0] * w

    yield run
    held[0] = 3.0
    yield run
    run.__defaults__ = ([4.0],)
    yield run
    run.__kwdefaults__ = {"w": np.full(4, 2, np.float32)}


def a_class() -> Iterator[Callable[..., Any]]:
    yield lambda x: x * Config.scale
    Config.scale = 3.0
    yield lambda: None
    Config.scale = 2.0


def a_module() -> Iterator[Callable[..., Any]]:
    MODULE.scale = 2.0  # type: ignore[attr-defined]
    yield lambda x: x * MODULE.scale
    MODULE.scale = 3.0  # type: ignore[attr-defined]


def a_partial() -> Iterator[Callable[..., Any]]:
    layer = Layer(np.ones(4, np.float32))
    part = functools.partial(helper, by=layer.weight)
    yield lambda x: part(x)
    layer.weight[0] = 9


def a_context() -> Iterator[Callable[..., Any]]:
    yield lambda x: x * VARIABLE.get()
    token = VARIABLE.set(2.0)
    yield lambda: None
    VARIABLE.reset(token)


def elements_that_decide() -> Iterator[Callable[..., Any]]:
    held = np.ones(4, np.float32)
    yield lambda x: (x if held[0] > 0 else -x) * float(held[1]) + (held * 2)
    held[1] = 5
    yield lambda: None
    held[0] = -1
    yield lambda: None
    held[3] = 4


def integers() -> Iterator[Callable[..., Any]]:
    rows = np.array([0, 2])
    mask = np.array([True, False, True, True])
    yield lambda x: np.where(mask, np.take(x, rows, 0), 0.0)
    rows[0] = 1
    yield lambda: None
    mask[0] = False


def wide_floats() -> Iterator[Callable[..., Any]]:
    table = np.ones(4)
    yield lambda x: x * table
    table[1] = 3.5


def a_method_of_a_class() -> Iterator[Callable[..., Any]]:
    class Child(Layer):
        def __call__(self, x: Any) -> Any:
            return super().__call__(x) * Config.scale

    layer = Child(np.ones(4, np.float32))
    yield lambda x: layer(x)
    layer.scale = 0.5
    yield lambda: None
    Config.scale = 5.0
    yield lambda: None
    Config.scale = 2.0


STATES = [
    numbers_of_an_object,
    objects_of_a_list,
    a_dictionary,
    globals_and_helpers,
    a_closure,
    default_arguments,
    a_class,
    a_module,
    a_partial,
    a_context,
    elements_that_decide,
    integers,
    wide_floats,
    a_method_of_a_class,
]


@pytest.mark.parametrize("states", STATES)
def test_what_changed_is_read(states: Callable[[], Iterator[Any]]) -> None:
    changes = states()
    function = next(changes)
    compiled = morello.jit(function, threads=1)
    assert np.allclose(compiled(X), function(X), atol=1e-6)
    assert np.allclose(compiled(X), function(X), atol=1e-6)
    for _ in changes:
        assert np.allclose(compiled(X), function(X), atol=1e-6)
        assert np.allclose(compiled(X), function(X), atol=1e-6)
    assert np.allclose(compiled(X), function(X), atol=1e-6)


def test_what_a_function_writes_is_written_in_each_call() -> None:
    count = 0

    @morello.jit(threads=1)
    def run(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * float(count)

    for wanted in (1, 2, 3):
        assert np.array_equal(run(X), X * np.float32(wanted))


class Model:
    def __init__(self, scale: float, size: int) -> None:
        self.scale = scale
        self.weight = np.full(size, scale, np.float32)

    @morello.jit(threads=1)
    def run(self, x: Any) -> Any:
        return x * self.scale + self.weight


def test_objects_of_one_class_share_what_is_compiled() -> None:
    models = [Model(2.0, 4), Model(3.0, 4), Model(2.0, 1)]
    for model in (*models, *models):
        assert np.allclose(model.run(X), X * model.scale + model.weight)


def test_numbers_drawn_in_a_function_are_new_in_each_call() -> None:
    draw = morello.jit(lambda x: x + np.random.standard_normal(4), threads=1)
    assert not np.array_equal(draw(X), draw(X))


def test_a_change_of_a_number_compiles_no_equal_graph_again() -> None:
    held = {"unused": 1.0, "w": np.ones(4, np.float32)}
    run = morello.jit(lambda x: x * held["w"], threads=1)
    run(X)
    held["unused"] = 2.0
    run(X)
    assert run.kernel((3, 4)) is run.kernel((3, 4))
    assert len(run._programs) == 1

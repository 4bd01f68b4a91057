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
from morello.errors import MorelloError

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


def two_names_of_one_array() -> Iterator[Callable[..., Any]]:
    """What was one object may be two later, and two may be one."""
    scale = shift = np.ones(4, np.float32)
    yield lambda x: x * scale + shift
    shift = np.full(4, 5, np.float32)
    yield lambda: None
    shift[1] = 7
    yield lambda: None
    shift = scale
    yield lambda: None
    scale[2] = 3


def an_object_in_two_places() -> Iterator[Callable[..., Any]]:
    layer = Layer(np.ones(4, np.float32))
    layers = {"first": layer, "last": layer}
    yield lambda x: layers["last"](layers["first"](x))
    layers["last"] = Layer(np.ones(4, np.float32))
    yield lambda: None
    layers["last"].weight[0] = 4
    yield lambda: None
    layers["first"] = layers["last"]
    yield lambda: None
    layer.weight[1] = 3


def a_list_in_two_places() -> Iterator[Callable[..., Any]]:
    inner = [2.0]
    outer = [inner, inner]
    yield lambda x: x * outer[0][0] + outer[1][0]
    outer[1] = [5.0]
    yield lambda: None
    outer[0] = outer[1]
    yield lambda: None
    outer[0][0] = 7.0


def an_argument_and_a_global() -> Iterator[Callable[..., Any]]:
    """A closure and a default that are one array."""
    held = np.ones(4, np.float32)

    def run(x: Any, w: Any = held) -> Any:
        return x * w + held

    yield run
    held = np.full(4, 3, np.float32)


def a_set_of_functions() -> Iterator[Callable[..., Any]]:
    scale = 2.0

    def scaled(x: Any) -> Any:
        return x * scale

    held = frozenset({scaled})
    yield lambda x: sum(f(x) for f in held)
    scale = 3.0


STATES = [
    a_set_of_functions,
    two_names_of_one_array,
    an_object_in_two_places,
    a_list_in_two_places,
    an_argument_and_a_global,
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


@pytest.mark.sampled(5)
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


ZERO: Any = 0.0


@pytest.mark.parametrize("kind", [float, np.float32, np.float64])
def test_the_sign_of_a_zero_is_read(kind: Any) -> None:
    global ZERO
    run = morello.jit(lambda x: np.abs(x) * ZERO, threads=1)
    for sign in (1, -1, 1):
        ZERO = kind(sign * 0.0)
        assert (np.signbit(run(X)) == (sign < 0)).all()
        other = morello.jit(run.__wrapped__, threads=1)
        assert (np.signbit(other(X)) == (sign < 0)).all()


def test_a_number_that_is_nan_is_the_same_in_the_next_call() -> None:
    held = [float("nan")]
    run = morello.jit(lambda x: x * held[0], threads=1)
    for _ in range(3):
        assert np.isnan(run(X)).all()
        held[0] = float("nan")
    assert len(run._programs) == 1
    assert all(len(variant._known) == 1 for variant in run._variants.values())


def by_nonlocal() -> tuple[Callable[..., Any], Callable[[], int]]:
    count = 0

    def run(x: Any) -> Any:
        def inner() -> None:
            nonlocal count
            count += 1

        inner()
        return x * float(count)

    return run, lambda: count


def by_itself() -> tuple[Callable[..., Any], Callable[[], int]]:
    count = 0

    def run(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * float(count)

    return run, lambda: count


COUNT = 0


def by_global() -> tuple[Callable[..., Any], Callable[[], int]]:
    global COUNT
    COUNT = 0

    def run(x: Any) -> Any:
        def inner() -> float:
            global COUNT
            COUNT += 1
            return float(COUNT)

        return x * inner()

    return run, lambda: COUNT


def by_a_list() -> tuple[Callable[..., Any], Callable[[], int]]:
    counts = [0]

    def run(x: Any) -> Any:
        def inner() -> None:
            counts[0] += 1

        inner()
        return x * float(counts[0])

    return run, lambda: counts[0]


def by_a_comprehension() -> tuple[Callable[..., Any], Callable[[], int]]:
    counts = [0]

    def run(x: Any) -> Any:
        return x * float(max([counts.append(0) or len(counts) for _ in range(1)]) - 1)

    return run, lambda: len(counts) - 1


WRITES = [by_itself, by_nonlocal, by_global, by_a_list, by_a_comprehension]


@pytest.mark.parametrize("make", WRITES)
def test_what_a_function_writes_is_written_in_each_call(make: Any) -> None:
    function, count = make()
    run = morello.jit(function, threads=1)
    for wanted in (1, 2, 3):
        assert np.array_equal(run(X), X * np.float32(wanted))
        assert count() == wanted


def test_a_variable_of_the_function_itself_may_be_written_inside() -> None:
    def run(x: Any) -> Any:
        total = 0

        def add(number: int) -> None:
            nonlocal total
            total += number

        for number in range(3):
            add(number)
        return x * float(total)

    compiled = morello.jit(run, threads=1)
    for _ in range(2):
        assert np.array_equal(compiled(X), X * np.float32(3))
    assert len(compiled._programs) == 1


class Model:
    def __init__(self, scale: float, size: int) -> None:
        self.scale = scale
        self.weight = np.full(size, scale, np.float32)

    @morello.jit(threads=1)
    def run(self, x: Any) -> Any:
        return x * self.scale + self.weight


@pytest.mark.parametrize("dtype", [np.complex64, object, "U1"])
def test_an_array_that_has_become_one_of_no_numbers_is_refused(dtype: Any) -> None:
    held = np.ones(4, np.float32)
    run = morello.jit(lambda x: x * held, threads=1)
    assert np.array_equal(run(X), X)
    held = np.ones(4, dtype)
    with pytest.raises((MorelloError, TypeError)):
        run(X)
    held = np.full(4, 2, np.float32)
    assert np.array_equal(run(X), 2 * X)


def test_objects_of_one_class_share_what_is_compiled() -> None:
    models = [Model(2.0, 4), Model(3.0, 4), Model(2.0, 1)]
    for model in (*models, *models):
        assert np.allclose(model.run(X), X * model.scale + model.weight)


def test_numbers_drawn_in_a_function_are_new_in_each_call() -> None:
    def inside(x: Any) -> Any:
        return x + sum([np.random.standard_normal(4) for _ in range(1)])

    for function in (inside, lambda x: x + np.random.standard_normal(4)):
        draw = morello.jit(function, threads=1)
        assert not np.array_equal(draw(X), draw(X))


def test_the_time_that_an_inner_function_reads_is_that_of_the_call() -> None:
    def run(x: Any) -> Any:
        def now() -> float:
            import time

            return float(time.monotonic_ns() % 99_991)

        return x * now()

    compiled = morello.jit(run, threads=1)
    assert len({float(compiled(X)[0, 0]) for _ in range(3)}) > 1


def test_a_change_of_a_number_compiles_no_equal_graph_again() -> None:
    held = {"unused": 1.0, "w": np.ones(4, np.float32)}
    run = morello.jit(lambda x: x * held["w"], threads=1)
    run(X)
    held["unused"] = 2.0
    run(X)
    assert run.kernel((3, 4)) is run.kernel((3, 4))
    assert len(run._programs) == 1

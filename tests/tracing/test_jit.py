"""`morello.jit` computes what NumPy does; other things are refused by name and line."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import morello
from morello.errors import MorelloError
from morello.frontends.model import Model
from tests.tracing.beside import Array, arrays, check


def softmax_of_rows(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def filtered(x: Any) -> Any:
    h = x[0]
    for row in range(1, 7):
        h = 0.5 * h + x[row]
    return h


HELD = arrays((4, 3))[0]

FUNCTIONS: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (lambda x, w, b: np.maximum(x @ w + b, 0), [(5, 7), (7, 9), (9,)]),
    (softmax_of_rows, [(6, 33)]),
    (lambda x: x @ x.T, [(5, 7)]),
    (lambda x, y: (x.T + y, (x * 2.0).sum(0)), [(5, 7), (7, 5)]),
    (lambda x: np.tanh(x @ HELD) * 0.5, [(5, 4)]),
    (lambda x: x.mean(0), [(5, 9)]),
    (lambda x, w: x @ w, [(7,), (7, 9)]),
    (lambda x, w: x @ w, [(3, 7), (7,)]),
    (lambda x, y: x[:, None, :] - y[None], [(3, 4), (5, 4)]),
    (lambda x, y: np.sqrt(np.square(x) + y**2), [(3, 1), (1, 4)]),
    (lambda x: -x.min(axis=1) / 3, [(4, 9)]),
    (lambda x: np.swapaxes(x, 0, 1), [(4, 9)]),
    (lambda a, b, c: a @ b @ c, [(4, 5), (5, 6), (6, 7)]),
    (lambda x: np.expand_dims(x, 0) * 2, [(4, 9)]),
    (lambda x: np.where(x > 0, x, 0.1 * np.abs(x)), [(4, 9)]),
    (lambda x, y: np.where(x <= y, x, -y) + (x >= 0.5) * y, [(4, 9), (9,)]),
    (lambda x: np.log(np.exp(x).sum(-1)), [(4, 9)]),
    (lambda x: x.sum(), [(4, 9)]),
    (lambda x, y: x @ y, [(9,), (9,)]),
    (lambda x, y: (np.square(x - y).mean(), x.max()), [(4, 9), (4, 9)]),
    (lambda x: (x.reshape(4, 1, 9) - 1.0).reshape(4, 9), [(4, 9)]),
    (lambda x: (x[:, ::2] + x[::-1, 1:6], (x * 2)[1:].sum(0)), [(4, 9)]),
    (lambda x: sliding_window_view(np.pad(x, 1), (2, 3))[::2].max((-2, -1)), [(6, 9)]),
    (lambda x: (np.tanh(x.reshape(4, 3, 3)) @ HELD.T).reshape(6, 8), [(4, 9)]),
    (lambda x: (lambda y: y @ y.T)(x - x.mean(1, keepdims=True)), [(4, 9)]),
    (lambda x, s: x * s + s, [(4, 9), ()]),
    # Parts whose results are stored on the way.
    (lambda a, b, c, d, e: a + b + c + d + e, [(4, 5)] * 5),
    (lambda x: (x + 1).reshape(4, -1).sum(1), [(2, 3, 4)]),
    (lambda x: (x @ HELD).T.reshape(-1) * 2, [(5, 4)]),
    (lambda x: np.pad(x * 2, ((1, 0), (0, 2))) + 1, [(4, 3)]),
    (lambda x: np.pad(x * 2, 1, constant_values=3) + 1, [(4, 3)]),
    (lambda x: sliding_window_view(np.tanh(x), 3)[::2].mean(-1), [(9,)]),
    (lambda x: np.concatenate([x @ HELD, x[:2, :3] * 2]) @ HELD.T, [(5, 4)]),
    (lambda x: (sliding_window_view(x, 2) + 1).reshape(-1) * 2, [(5,)]),
    # More is read than one kernel does.
    (lambda *xs: xs[0] + xs[1] * xs[2] - xs[3] / xs[4] + xs[5] * xs[6], [(3, 4)] * 7),
    (lambda *xs: (xs[0] * xs[1] + xs[2] * xs[3] + xs[4] * xs[5]).sum(1), [(3, 4)] * 6),
    (filtered, [(7, 5)]),
    (lambda *xs: (sum(xs), xs[0] * xs[5]), [(4,)] * 6),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("function", "shapes"), FUNCTIONS)
def test_it_computes_what_numpy_does(
    function: Callable[..., Any], shapes: list[tuple[int, ...]]
) -> None:
    check(function, arrays(*shapes), threads=1, time_limit=2)


def test_functions_of_nn_are_short_names() -> None:
    shapes = {
        "softmax:16x8:f32": (morello.nn.softmax, [(16, 8)]),
        "layer_norm:16x8:f32": (morello.nn.layer_norm, [(16, 8), (8,), (8,)]),
        "rms_norm:16x8:f32": (morello.nn.rms_norm, [(16, 8), (8,)]),
        "gelu_matmul:9x4x8:f32:gelu=erf": (
            lambda a, w, c: morello.nn.gelu(a @ w + c, approximate=False),
            [(9, 4), (4, 8), (8,)],
        ),
        "attention:9x7x8x5:f32": (morello.nn.attention, [(9, 8), (7, 8), (7, 5)]),
    }
    for text, (function, inputs) in shapes.items():
        (part,) = morello.trace(function, *inputs).parts
        wanted = morello.Spec.parse(text)
        assert part.kind == wanted.kind, text
        assert part.sizes == wanted.sizes


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stride", [1, 2])
def test_images_are_convolved(stride: int) -> None:
    x, w = arrays((2, 3, 9, 8), (4, 3, 3, 3))
    convolve = morello.jit(
        lambda x, w: morello.nn.conv2d(x, w, stride=stride, padding=1), threads=1
    )
    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (2, 3))
    wanted = np.einsum("fcij,ncuvij->nfuv", w, windows[:, :, ::stride, ::stride])
    assert np.allclose(convolve(x, w), wanted, rtol=1e-4, atol=1e-4)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs that are compiled in a test."""
    programs: list[Any] = []
    compile_program = Model.compile

    def noted(model: Model, **options: Any) -> Any:
        programs.append(model)
        return compile_program(model, **options)

    monkeypatch.setattr(Model, "compile", noted)
    return programs


def test_each_shape_is_compiled_once(compiled: list[Any]) -> None:
    @morello.jit(threads=1)
    def doubled(x: Any) -> Any:
        return x * 2

    for size in (3, 3, 4, 3):
        (x,) = arrays((2, size))
        assert np.array_equal(doubled(x), x * 2)
    assert len(compiled) == 2
    assert doubled.kernel((2, 3)) is doubled.kernel((2, 3))


def test_arguments_may_be_named_and_lie_anywhere() -> None:
    @morello.jit(threads=1)
    def less(x: Any, y: Any) -> Any:
        return x - y

    x, y = arrays((6, 4), (4, 6))
    assert np.array_equal(less(y=y.T, x=x), x - y.T)
    assert np.array_equal(less(x[::2], y.T[::2]), (x - y.T)[::2])


REFUSED: list[tuple[Callable[..., Any], list[tuple[int, ...]], str]] = [
    (lambda x: np.frexp(x), [(3, 4)], r"np\.frexp is not traced; use exp, or what"),
    (lambda x: np.sort(x), [(3, 4)], r"np\.sort is not traced; use what docs/"),
    (lambda x: x[{0}], [(3, 4)], "an index of set is not traced"),
    (lambda x: x if x.sum(0) else -x, [(3, 4)], "value of an array is not known"),
    (lambda x: sum(row for row in x), [(9, 4)], "iterating over an array of 9 rows"),
    (lambda x, y: x + y, [(3, 4), (3, 5)], r"\(3, 4\) and \(3, 5\) do not broadcast"),
    (lambda x: x.reshape(5, 3), [(3, 4)], r"\(3, 4\) cannot be reshaped to \(5, 3\)"),
    (
        lambda x: x.astype(np.float64),
        [(3, 4)],
        r"astype\(float64\) of float32 is not traced",
    ),
    (lambda x: np.add(x, x, where=True), [(3, 4)], "with where"),
    (lambda x: 3.0, [(3, 4)], "returns float, not an array"),
    (lambda x: x @ x, [(3, 4)], "do not broadcast"),
]


@pytest.mark.parametrize(("function", "shapes", "words"), REFUSED)
def test_what_is_not_traced_is_refused(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], words: str
) -> None:
    with pytest.raises(MorelloError, match=words):
        morello.trace(function, *shapes)


def test_lists_dictionaries_and_numbers_are_arguments(compiled: list[Any]) -> None:
    @morello.jit(threads=1)
    def layer(params: Any, x: Any, scale: Any, *, axis: int) -> Any:
        return {"y": x @ params["w"] * scale, "sums": [x.sum(axis)]}

    w, x = arrays((4, 3), (5, 4))
    for scale, axis in ((0.5, 0), (0.25, 0), (0.25, 1)):
        result = layer({"w": w}, x, scale, axis=axis)
        assert np.allclose(result["y"], x @ w * np.float32(scale), atol=1e-5)
        assert np.allclose(result["sums"][0], x.sum(axis), atol=1e-5)
    assert len(compiled) == 2
    kernel = layer.kernel({"w": (4, 3)}, (5, 4), 0.5, axis=1)
    assert kernel is layer.kernel({"w": w}, x, 2.0, axis=1)


def test_methods_and_functions_within_each_other() -> None:
    bell = morello.jit(lambda x: np.exp(-x * x), threads=1)

    class Model:
        def __init__(self, w: Array) -> None:
            self.w = w

        @morello.jit(threads=1)
        def apply(self, x: Any, seen: Any) -> Any:
            return np.where(seen, bell(x) @ self.w, 0.0)

    x, one, other = arrays((5, 4), (4, 3), (4, 3))
    seen = np.arange(15).reshape(5, 3) % 2 == 0
    for w in (one, -other):
        wanted = np.where(seen, np.exp(-x * x) @ w, 0)
        assert np.allclose(Model(w).apply(x, seen), wanted, atol=1e-5)


def test_a_refusal_has_the_line() -> None:
    def wrong(x: Any) -> Any:
        y = x * 2
        return np.frexp(y)

    with pytest.raises(MorelloError) as caught:
        morello.trace(wrong, (3, 4))
    line = wrong.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}: np.frexp is not traced" in str(caught.value)


def _without_numbers(x: Any) -> Any:
    with contextlib.suppress(Exception):
        return x * float(x.sum())
    return x * 0


def _with_another_error(x: Any) -> Any:
    try:
        return np.sort(x)
    except MorelloError:
        raise ValueError("never by arrays") from None


def _within(x: Any) -> Any:
    with contextlib.suppress(Exception):
        return x + morello.jit(_without_numbers)(HELD)
    return x


@pytest.mark.parametrize("function", [_without_numbers, _with_another_error, _within])
def test_a_function_that_catches_a_refusal_is_refused(
    function: Callable[..., Any],
) -> None:
    (x,) = arrays((3, 4))
    for _ in range(2):  # the second call too
        with pytest.raises(MorelloError, match=r"not known|is not traced"):
            morello.jit(function)(x)


def test_errors_of_numpys_are_caught_as_with_arrays() -> None:
    def scaled(x: Any) -> Any:
        try:
            return x * x.scale
        except AttributeError:
            return x * 2

    (x,) = arrays((3, 4))
    assert np.array_equal(morello.jit(scaled, threads=1)(x), x * 2)


def test_an_array_has_numpys_class_whatever_else_a_function_reads() -> None:
    def doubled(x: Any) -> Any:
        vars(np)  # which no guard sees
        return x * 2 if isinstance(x, np.ndarray) else x

    (x,) = arrays((3, 4))
    assert np.array_equal(morello.jit(doubled, threads=1)(x), x * 2)


_THREE = (3, 3.0, np.float32(3), np.array(3, np.float32), np.int8(3), np.uint64(3))


@pytest.mark.parametrize("three", _THREE, ids=lambda v: type(v).__name__)
def test_numbers_of_any_class_are_arguments(three: Any) -> None:
    (x,) = arrays((3, 4))
    times = morello.jit(lambda x, y: x * y - y, threads=1)
    wanted = x * np.float32(3) - np.float32(3)
    for result in (times(x, three), times(x, y=three)):
        assert result.dtype == np.float32
        assert np.allclose(result, wanted, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (np.float64(3), r"dtype float64, which is not traced; write np\.float32\(x\)$"),
        (np.array(3), r"dtype int64, .* write int\(x\) or np\.float32\(x\)$"),
        (np.array([3]), r"dtype int64, .* write x\.astype\(np\.float32\)$"),
        (np.complex64(3), "dtype complex64, .* give real numbers"),
        (1e40, r"is 1e\+40, too large for float32; give np\.finfo"),
        ("3", "str is not traced; use numbers of float32"),
        (3j, "complex is not traced; use numbers of float32"),
    ],
    ids=repr,
)
def test_numbers_that_are_not_traced_are_refused(number: Any, words: str) -> None:
    (x,) = arrays((3, 4))
    with pytest.raises(MorelloError, match=words):
        morello.jit(lambda x, y: x * y)(x, number)


def test_arrays_of_doubles_are_refused() -> None:
    double = morello.jit(lambda x: x * 2)
    with pytest.raises(MorelloError, match=r"argument 0 .* dtype float64"):
        double(np.zeros((2, 3)))
    with pytest.raises(
        MorelloError, match=r"argument 0\[1\] .* write np\.float32\(x\)"
    ):
        double([np.zeros(3, np.float32), np.float64(2)])
    with pytest.raises(TypeError, match="'set' and 'int'"):
        double({1, 2})


def test_functions_of_nn_take_traced_arrays_alone() -> None:
    with pytest.raises(MorelloError, match=r"morello\.nn\.relu is given ndarray"):
        morello.nn.relu(np.zeros((2, 3), np.float32))


def test_masks_and_what_is_no_function_are_refused() -> None:
    masked = np.ma.masked_equal(np.ones((2, 3), np.float32), 1)
    with pytest.raises(MorelloError, match="masked array"):
        morello.jit(lambda x: x + x)(masked)
    with pytest.raises(MorelloError, match=r"a masked array, .* not traced"):
        morello.jit(lambda x: x * masked)(np.ones((2, 3), np.float32))
    matrix = np.ones((3, 3), np.float32).view(np.matrix)
    with pytest.raises(MorelloError, match=r"0 of .* is a matrix, .* write @"):
        morello.jit(lambda x: x * x)(matrix)
    with pytest.raises(MorelloError, match=r"a matrix, .* not traced"):
        morello.jit(lambda x: x * matrix)(np.ones((3, 3), np.float32))
    with pytest.raises(MorelloError, match="given int, not a function"):
        morello.jit(3)  # type: ignore[arg-type]
    with pytest.raises(MorelloError, match="trace is given int, not a function"):
        morello.trace(3, (2, 3))  # type: ignore[arg-type]


def test_results_without_a_program_as_a_whole_are_parts_of_one_function() -> None:
    @morello.jit(threads=1)
    def parts(x: Any) -> Any:
        one, two, three = np.array_split(x, 3)
        return np.concatenate([three, one * 2]), two + 1

    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    joined, rest = parts(x)
    assert np.array_equal(joined, np.concatenate([x[5:], x[:3] * 2]))
    assert np.array_equal(rest, x[3:5] + 1)
    assert len(parts.kernel((7, 2)).specs) == 3


def layers(x: Any, weights: Any) -> Any:
    for weight in weights:
        x = np.maximum(x @ weight, 0)
    return x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [2, 4])
def test_reductions_that_share_no_pass_are_parts(rows: int) -> None:
    """A square's axes are two as well. As one graph they are searched for minutes."""
    x = np.arange(4.0 * rows, dtype=np.float32).reshape(rows, 4)
    x[1, 2] = np.nan

    def function(x: Any) -> Any:
        return np.nansum(x, 1), np.nanmax(x, 1), np.nanmean(x, 0)

    run = morello.jit(function, threads=1)
    for result, wanted in zip(run(x), function(x), strict=True):
        np.testing.assert_array_equal(result, wanted)
    assert len(run.kernel((rows, 4)).specs) > 1
    assert not any(part.crosses for part in morello.trace(function, (rows, 4)).parts)


def test_layers_of_any_number_share_a_program() -> None:
    (x,), weights = arrays((4, 8)), [w / 3 for w in arrays(*[(8, 8)] * 12)]
    run = morello.jit(layers, threads=1)
    assert np.allclose(run(x, weights), layers(x, weights), rtol=1e-4, atol=1e-5)
    compiled = run.kernel(x, weights)
    assert len(compiled.specs) == 12
    assert len({*compiled.specs}) == 1


def _polynomial(x: Any) -> Any:
    """Horner's rule, of 200 maps: 400 calls within each other."""
    total = x
    for i in range(200):
        total = total * x + np.float32(i / 200)
    return total


def _twice_read(x: Any) -> Any:
    """Each value is read by the next two."""
    a, b = x, x + 1
    for _ in range(24):
        a, b = b, np.tanh(a + b)
    return b


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [_polynomial, _twice_read])
def test_maps_of_any_number_are_cut(function: Callable[..., Any]) -> None:
    x = arrays((3, 5))[0] / 4
    result = morello.jit(function, threads=1, time_limit=2)(x)
    np.testing.assert_allclose(result, function(x), rtol=1e-5)


@pytest.mark.sampled(3)
def test_convolutions_follow_each_other() -> None:
    x, w = arrays((1, 3, 6, 6), (3, 3, 3, 3))

    def convolved(x: Array) -> Array:
        around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = sliding_window_view(around, (3, 3), (2, 3))
        return np.einsum("fcij,ncuvij->nfuv", w, windows)

    twice = morello.jit(
        lambda x, w: morello.nn.conv2d(morello.nn.conv2d(x, w, 1, 1), w, 1, 1),
        threads=1,
    )
    assert np.allclose(twice(x, w), convolved(convolved(x)), rtol=1e-4, atol=1e-4)

"""Each op of a group, by the definition of the parts that it becomes; no search."""

import logging
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from morello.torch.group import Group
from tests.tables import rows

pytestmark = pytest.mark.quick


class Of(nn.Module):
    """A function as a module, with parameters of some shapes."""

    def __init__(self, function: Any, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.function = function
        self.weights = nn.ParameterList(torch.randn(shape) for shape in shapes)

    def forward(self, *tensors: Any) -> Any:
        return self.function(*tensors, *self.weights)


def results(function: Any, *arguments: Any, **options: Any) -> Any:
    """The results of a function or module that the backend compiles."""
    fast = torch.compile(function, backend="morello", options={"wait": True})
    return fast(*arguments, **options)


def attend(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def share(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def rotated(x: Any, cosine: Any, sine: Any) -> Any:
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


def repeated(x: Any, y: Any) -> Any:
    """Reductions along what repeats, as of weights that are all 1."""
    ones = torch.ones(5, 5)
    scores = (x @ ones) @ (y @ ones).mT
    wide = x[:, :, None].expand(2, 3, 4, 5)
    return scores.sum() + wide.sum(2) + wide.amax(2) + wide.logsumexp(2)


def losses(x: Any, y: Any) -> Any:
    rows = torch.linalg.vector_norm(x, dim=1) + x.logsumexp(1) + x.std(1) + x @ y[0]
    scalars = [
        functional.mse_loss(x, y),
        functional.huber_loss(x, y, delta=0.5),
        functional.smooth_l1_loss(x, y),
        functional.logsigmoid(x).sum(),
    ]
    return rows * torch.stack(scalars).sum()


def masked(x: Any, y: Any) -> Any:
    is_later = torch.ones(8, 8, dtype=torch.bool).triu(1)
    scores = (x.T @ y).masked_fill(is_later, -torch.inf).softmax(-1)
    return torch.where(scores > 0.1, scores, y.sum()).tril() + scores.flip(0, 1)


def looked_up(table: Any, places: Any) -> Any:
    rows = functional.embedding(places, table)
    return rows + table[places] + table.index_select(0, places[0])


def cached(x: Any, y: Any, places: Any) -> Any:
    """Rows and one row that are written at places."""
    several = x.clone()
    several[:, places] = y * 2
    return several.exp() * x.index_copy(1, places[:1] + 3, y[:, :1])


def best(x: Any) -> Any:
    values, places = x.max(1)
    least = x.min(0, keepdim=True).indices
    return values + places + x.argmax(1) - x.argmin() + x.gather(0, least).sum()


def spread(x: Any, y: Any) -> Any:
    variance, mean = torch.var_mean(x, 1, keepdim=True)
    first, *rest = x.unbind(0)
    mixed = torch.lerp(x, y, 0.3).clamp(y, y + 1) + torch.addcmul(x, y, variance)
    products = (
        torch.prod(x, 1, keepdim=True) + torch.addmv(first[:3], x, first)[:, None]
    )
    return (torch.rsub(mixed, mean) + products - rest[0]).squeeze()


def trigonometric(x: Any, y: Any) -> Any:
    waves = torch.sin(x) * torch.cos(y) + torch.atan(x).sign() + torch.atan2(x, y)
    return waves + (x.abs() + 1) ** y + torch.hypot(x, y) + torch.fmax(x, y)


def sizes(x: Any) -> Any:
    wide = functional.interpolate(x, scale_factor=2, mode="bilinear")
    near = functional.interpolate(x, scale_factor=2)
    return functional.pad(wide * near, (1, 1, 1, 1), mode="reflect")


def moves(x: Any) -> Any:
    wide = functional.pad(x, (1, 1, 1, 1), mode="replicate").roll((1, -1), (2, 3))
    return functional.pixel_shuffle(wide, 2).repeat(2, 1, 1, 1) + 2.0 ** x.sum()


def gates(x: Any, w: Any) -> Any:
    i, f, g, o = (x @ w).chunk(4, 1)
    return torch.sigmoid(o) * torch.tanh(torch.sigmoid(i) * torch.tanh(g) + f)


MASK = torch.tensor([[0.0, -np.inf, 1.0], [-np.inf] * 3, [0.5, 0.0, -np.inf]])

MODULES = {name: line for name, *line in rows(__file__, "modules")}
"""Modules and their arguments. Those of reductions of what repeats are integers, whose
sum is exact: terms of a sum of scores cancel."""


IN_BF16 = ("attention with a mask", "gates of an LSTM", "group norm", "losses", "moves")
BOTH = [(name, False) for name in MODULES] + [(name, True) for name in IN_BF16]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "is_bf16"), BOTH)
def test_an_op_is_taken(
    name: str, is_bf16: bool, evaluated: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "morello.torch")
    module, inputs = map(eval, MODULES[name])
    bound = 1e-5
    if is_bf16:
        module = module.bfloat16()
        inputs, bound = tuple(x.bfloat16() for x in inputs), 2**-6
    result, wanted = results(module, *inputs), module(*inputs)
    assert result.dtype == wanted.dtype
    # Terms that cancel leave the rounding of the larger ones.
    most = bound * max(1.0, float(wanted.abs().max())) if is_bf16 else bound
    assert torch.allclose(result, wanted, rtol=bound, atol=most)
    assert len(evaluated) == 1
    assert not caplog.records


NAN, INF = float("nan"), float("inf")
ODD = torch.tensor([[-INF, INF, -0.0, 0.0, NAN, -1.0], [INF, 2.5, INF, -2.5, 0.5, 0]])

SPECIAL = {
    "argmax": (lambda x: x.argmax(1), [4, 0]),
    "argmin": (lambda x: x.argmin(1), [4, 3]),
    "max": (lambda x: x.max(1).values, [NAN, INF]),
    "min": (lambda x: x.min(1).indices, [4, 3]),
    "sign": (lambda x: x[0].sign(), [-1, 1, 0, 0, 0, -1]),
    "clamp": (lambda x: x[0].clamp(-2, 2), [-2, 2, 0, 0, NAN, -1]),
    "round": (lambda x: x[1].round(), [INF, 2, INF, -2, 0, 0]),
    "itself": (lambda x: (x == x)[0], [1, 1, 1, 1, 0, 1]),
    "finite": (lambda x: x[0].isfinite(), [0, 0, 1, 1, 0, 1]),
    "equal": (lambda x: x[1] * 0.2 == 0.1, [0, 0, 0, 0, 1, 0]),
    "trunc": (lambda x: 1 / x[0].trunc(), [0, 0, -INF, INF, NAN, -1]),
    "hypot": (lambda x: torch.hypot(*x), [INF, INF, INF, 2.5, NAN, 1]),
    "heaviside": (lambda x: torch.heaviside(*x), [0, 1, INF, -2.5, 0, 0]),
    "fmax": (lambda x: torch.fmax(*x), [INF, INF, INF, 0, 0.5, 0]),
    "variance of too few": (lambda x: x[1:, 3:].var(1, correction=9), [INF]),
    "halves of powers": (lambda x: x[0] ** 1.5, [INF, INF, 0, 0, NAN, NAN]),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, evaluated: list[Any]) -> None:
    function, wanted = SPECIAL[name]
    np.testing.assert_allclose(results(Of(function), ODD).numpy(), wanted)
    assert len(evaluated) == 1


POOLS = {
    "the place of a maximum": lambda x: functional.max_pool2d(
        x, 2, return_indices=True
    ),
    "a maximum with a ceiling": lambda x: (
        functional.max_pool2d(x, 2, 2, ceil_mode=True),
    ),
    "an average with padding": lambda x: (
        functional.avg_pool2d(x, 3, 2, 1, count_include_pad=True),
        functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ),
    "an average with a ceiling": lambda x: (
        functional.avg_pool2d(x, 2, 2, ceil_mode=True),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", POOLS)
def test_pools_that_may_stay_eager_are_right(name: str) -> None:
    fast = torch.compile(Of(POOLS[name]), backend="morello", options={"wait": True})
    x = torch.randn(1, 2, 5, 7)
    result, wanted = fast(x + 1), POOLS[name](x + 1)
    for one, other in zip(result, wanted, strict=True):
        assert one.dtype == other.dtype
        assert torch.allclose(one.float(), other.float(), atol=1e-6)


def test_borders_that_cut_off_move_what_is_left(evaluated: list[Any]) -> None:
    x = torch.arange(6.0).reshape(1, 2, 3)

    def function(x: Any) -> Any:
        return functional.pad(x + 1, (1, -1)), functional.pad(
            x, (-2, 2, 1, -1), value=7
        )

    moved, filled = results(Of(function), x)
    assert moved.tolist() == [[[0, 1, 2], [0, 4, 5]]]
    assert filled.tolist() == [[[7, 7, 7], [2, 7, 7]]]
    assert len(evaluated) == 1


class TwoNorms(nn.Module):
    """Two sums with vectors of one value, each with factors of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ParameterList(torch.arange(4.0) + n for n in range(8))

    def forward(self, x: Any) -> Any:
        a, b, c, d, e, f, g, h = self.rows
        return torch.maximum((x - a) * b * c + d, (x + e) * f * g - h)


def test_two_norms_of_one_value(evaluated: list[Any]) -> None:
    model, x = TwoNorms(), torch.arange(12.0).reshape(3, 4) - 5
    assert torch.equal(results(model, x), model(x))
    assert len(evaluated) == 1


def test_variances_with_any_correction(evaluated: list[Any]) -> None:
    """The squares of the distances from the mean, 3, are 4, 1, 0 and 9."""

    def function(x: Any) -> Any:
        result = [x.var(1, correction=c) for c in range(6)]
        result += [x.var(1), x.var(1, unbiased=False), x.std(1, correction=0) ** 2]
        result += [torch.var_mean(x, 1, correction=0)[0], x.var(correction=2).view(1)]
        return torch.stack(result)

    result = results(Of(function), torch.tensor([[1.0, 2, 3, 6]]))
    wanted = [14 / n if n else INF for n in (4, 3, 2, 1, 0, 0, 3, 4, 4, 4, 2)]
    np.testing.assert_allclose(result[:, 0].numpy(), wanted, rtol=1e-6)
    assert len(evaluated) == 1


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_several_nan_is_that_of_the_first(
    name: str, evaluated: list[Any]
) -> None:
    rows = torch.tensor([[1, NAN, 3, NAN, 0], [NAN, NAN, 1, 9, -9], [2, 7, 7, -4, -4]])
    result = results(Of(lambda x: getattr(x, name)(1)), rows)
    assert result.tolist() == [1, 0, {"argmax": 1, "argmin": 3}[name]]
    assert len(evaluated) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (5, 3), (1, 4)])
def test_causal_attention_counts_from_the_first_key(
    rows: int, columns: int, evaluated: list[Any]
) -> None:
    q, k, v = torch.randn(1, 2, rows, 4), *torch.randn(2, 1, 2, columns, 4)
    scores = q @ k.mT / 2
    scores[..., ~torch.ones(rows, columns, dtype=torch.bool).tril()] = -INF
    attention = functional.scaled_dot_product_attention
    result = results(attention, q, k, v, is_causal=True)
    without = results(attention, q, k, v, scale=0.0)
    assert torch.allclose(result, scores.softmax(-1) @ v, atol=1e-5)
    assert torch.allclose(without, v.mean(-2, keepdim=True), atol=1e-5)
    assert len(evaluated) == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_layers_in_both_directions(kind: Any, evaluated: list[Any]) -> None:
    layers = kind(3, 4, bidirectional=True, batch_first=True)
    x = torch.randn(2, 3, 3)
    with torch._dynamo.config.patch(allow_rnn=True):
        fast = torch.compile(layers, backend="morello", options={"wait": True})
        (result, state), (wanted, last) = fast(x), layers(x)
    pairs = zip([result, *state], [wanted, *last], strict=True)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in pairs)
    assert len(evaluated) == 1


def windowed(q: Any, k: Any, v: Any) -> Any:
    """Attention to a place and the two before it, by a mask that is made anew."""
    places = torch.arange(6)
    distance = places[:, None] - places
    return attend(q, k, v, (distance >= 0) & (distance <= 2))


@pytest.mark.parametrize("function", [attend, windowed, share])
def test_attention_is_one_part(function: Any, evaluated: list[Any]) -> None:
    inputs = [*torch.randn(3, 1, 2, 6, 4)]
    if function is share:
        inputs[0] = torch.randn(1, 6, 6, 4)
    if function is attend:
        inputs.append(torch.randn(6, 6).relu().log())  # most of it is -inf
        inputs[-1][2] = -INF
    assert torch.allclose(results(function, *inputs), function(*inputs), atol=1e-6)
    (model,) = evaluated
    assert len(model.specs()) == 1
    assert not model.fallback


ORDERS: dict[str, Any] = {
    "upwards": lambda x: torch.sort(x, stable=True, dim=0),
    "downwards": lambda x: torch.sort(x, stable=True, dim=0, descending=True),
    "greatest": lambda x: (x.topk(4, 0).values, x.topk(2, 0, largest=False).values),
    "looked up": lambda x: (x.gather(0, x.argsort(dim=0, stable=True)),),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("name", ORDERS)
def test_sorts_are_stable(name: str, dtype: Any, evaluated: list[Any]) -> None:
    """Equal elements stay in their order, and NaN is the greatest."""
    function = ORDERS[name]
    x = torch.randint(-3, 4, (11, 2), generator=torch.Generator().manual_seed(0))
    x = x.to(dtype)
    if dtype.is_floating_point:
        x[2, 0] = x[7, 0] = x[3, 1] = torch.nan
        x[4], x[9] = torch.inf, -torch.inf
    result, wanted = results(Of(function), x), function(x)
    assert len(evaluated) == 1
    pairs = zip(result, wanted, strict=True)
    assert all(one.equal(other) for one, other in pairs if not one.is_floating_point())
    torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)


NARROW = "float16"
OF_COUNTS = ("quotient",)
"""Functions that no group takes of floats."""

COUNTED = {
    "sum": (lambda x: x + x, "bool int64"),
    "sum of rows": (lambda x: x.sum(1), "bool uint8 int8 int64"),
    "sums so far": (lambda x: x.cumsum(0), "bool uint8 int8 int64"),
    "remainder": (lambda x: x % 7, "bool int64"),
    "quotient": (lambda x: x // -7, "bool int64"),
    "comparison": (lambda x: x == 3, "bool uint8 int8 int64"),
    "move": (lambda x: torch.cat([x, x]).flip(0), "bool uint8 int8 int64"),
    "cast": (lambda x: x.to(torch.float32), "bool uint8 int8 int64"),
    "any": (lambda x: x.any(0), "bool int64"),
    "quarters": (lambda x: x / 4, "bool uint8 int8 int64"),
    "maximum": (lambda x: x.max(), "bool int64"),
    "least of rows": (lambda x: x.amin((-1,), True), "bool int64"),
}
"""Functions, and the dtypes of which they are in a group, besides floats of 16 and 32
bits."""

DTYPES = ["bool", "uint8", "int8", "int64", "float16", "float64"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COUNTED)
def test_dtypes(name: str, dtype: str, evaluated: list[Any]) -> None:
    """Each is computed in a group, or by eager, with the dtype of eager's result."""
    function, taken = COUNTED[name]
    x = torch.tensor([[200, 3, 0], [1, 128, 255]]).to(getattr(torch, dtype))
    result, wanted = results(Of(function), x), function(x)
    assert result.dtype == wanted.dtype
    assert torch.equal(result, wanted)
    is_taken = dtype in taken.split() or (dtype == NARROW and name not in OF_COUNTS)
    assert len(evaluated) == is_taken


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_rows_of_bags_are_added_up_as_they_are_read(
    mode: str, evaluated: list[Any]
) -> None:
    """The program writes no row but the sums, and NaN and infinity go through."""
    table = torch.randn(9, 20)
    table[3, 5], table[4, :7] = torch.nan, torch.inf

    def function(x: Any, i: Any) -> Any:
        return functional.embedding_bag(i, x, mode=mode)

    i = torch.tensor([[0, 8, 3], [2, 2, 5], [4, 1, 4]])
    result = results(function, table, i)
    torch.testing.assert_close(result, function(table, i), equal_nan=True)
    (model,) = evaluated
    assert "sum" not in str(model)  # a part would read rows that were written


def test_quotients_of_wide_integers_are_exact(evaluated: list[Any]) -> None:
    """f64, in which torch-mlir divides, has no integers of more than 53 bits."""
    ends = [2**60 + 1, -(2**60) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 7, -7, 0]

    def function(x: Any) -> Any:
        floats = torch.floor(x.double() / 3.0).long()  # round as f64 does
        return x // 3, x // -7, x // (2**40 + 1), floats

    x = torch.tensor(ends)
    for one, other in zip(results(function, x), function(x), strict=True):
        assert torch.equal(one, other)
    assert len(evaluated) == 1


def test_what_has_no_spec_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "morello.torch")
    groups: list[Any] = []
    monkeypatch.setattr(Group, "start", groups.append)
    module = nn.EmbeddingBag(7, 4, mode="max")
    x = torch.tensor([[0, 6, 3], [2, 2, 5]])
    torch._dynamo.reset()
    assert torch.equal(torch.compile(module, backend="morello")(x), module(x))
    assert not groups
    assert "(its maximum leaves NaN out)" in caplog.text


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Of(lambda x: torch.tanh(x[x > 0])), "shapes depend on data"),
        (
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
            r"torch.backends.mha.set_fastpath_enabled\(False\)",
        ),
    ],
)
def test_what_keeps_a_model_eager_is_said(
    module: nn.Module, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "morello.torch")
    torch._dynamo.reset()
    x = torch.randn(2, 3, 4)
    fast = torch.compile(module, backend="morello")
    config = torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
    with config:
        torch.testing.assert_close(fast(x), module(x))
    assert re.search(words, caplog.text)

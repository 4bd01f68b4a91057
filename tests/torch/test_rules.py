"""Rules that take ops of PyTorch apart give what eager gives: run in PyTorch itself, so
that each costs milliseconds. And which ops are taken, with the reason where not."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from morello.torch import partition
from morello.torch.larger_ops import recurrent
from morello.torch.lowering import lowered
from morello.torch.ops import OF_AXES
from morello.torch.places import are_known_outside, with_test
from tests.tables import rows
from tests.torch.test_places import _TABLE, LOOKUPS, is_outside

pytestmark = pytest.mark.quick

quantized = torch.ops.quantized_decomposed

attend = functional.scaled_dot_product_attention


def numbers(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


QKV = (numbers(2, 4, 3, 8), numbers(2, 4, 5, 8, seed=1), numbers(2, 4, 5, 6, seed=2))
FEW = (QKV[0], QKV[1][:, :2], QKV[2][:, ::2])
"""Heads of queries in twos."""

BIAS = numbers(2, 1, 3, 5, seed=3)
BIAS[:, :, 1] = -math.inf

X = numbers(3, 4, 5)
ROW = (numbers(5, seed=4), numbers(5, seed=5))
CHANNELS = (numbers(4, seed=6), numbers(4, seed=7))

SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -0.5, 2.5, -2.5, 3e38, -7.0]
PAIRS = torch.cartesian_prod(torch.tensor(SPECIAL), torch.tensor(SPECIAL))
FIRST, SECOND = PAIRS[:, 0].clone(), PAIRS[:, 1].clone()
UNLIKE = PAIRS[~((PAIRS == 0).all(1) & (FIRST.signbit() != SECOND.signbit()))].T.clone()
"""Without zeros of two signs, of which either is the larger."""

SIGNS = torch.tensor([-7.5, -2.0, -0.0, 0.0, 1.5, 2.0, 6.0, math.nan])
SIGNED = torch.cartesian_prod(SIGNS, SIGNS).T.clone()
IMAGE, LINE = numbers(2, 3, 4, 5), numbers(2, 3, 7)

BAG_TABLE = X[0].clone()
BAG_TABLE[0, :3] = torch.tensor([math.nan, math.inf, -math.inf])


def norm_of_batch(x: Any, weight: Any = None, bias: Any = None) -> Any:
    return functional.batch_norm(x, None, None, weight, bias, training=True, eps=0.2)


BYTES = torch.arange(-20, 20, dtype=torch.int8).reshape(8, 5) * 5

UNSIGNED = (torch.arange(40) * 6 + 20).to(torch.uint8).reshape(8, 5)

CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "bytes beside others": (
        lambda u, s, x: (
            torch.where(s > 0, u, s.int()),
            torch.cat([u, s.short()]),
            u + x,
            u > s,
            u.sum(1),
            s - s.int(),
            torch.stack([u, x[:, :5]]),
        ),
        (UNSIGNED, BYTES, UNSIGNED * -0.5),
    ),
    "bytes beside numbers and truth values": (
        lambda u, s, x: (
            u * 2,
            s - 3,
            s // 3,
            s % 7,
            u * True,
            s * (x > 0),
            torch.maximum(x > 0, u),
            torch.where(s > 0, x > 0, s),
            torch.cat([u, x > 0]),
            (x > 0) == s,
            u & (x > 0),
        ),
        (UNSIGNED, BYTES, X[0, :1, :1] * BYTES),
    ),
    "to bytes": (
        lambda x, s, z: (
            quantized.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8),
            quantized.quantize_per_tensor(x, 0.01, 120, 0, 255, torch.uint8),
            quantized.quantize_per_channel(x, s, z, 1, -128, 127, torch.int8),
        ),
        (X, numbers(4).exp() * 0.1, torch.tensor([0, 3, -9, 1])),
    ),
    "of bytes": (
        lambda u, i, s, z: (
            quantized.dequantize_per_tensor(u, 0.1, 120, 0, 255, torch.uint8),
            quantized.dequantize_per_channel(i, s, z, 1, -128, 127, torch.int8),
            quantized.dequantize_per_channel(i.T, s, None, 0, -128, 127, torch.int8),
        ),
        (UNSIGNED, BYTES, numbers(5).exp(), torch.tensor([0, 3, -9, 1, 2])),
    ),
    "uneven windows": (
        lambda x: (
            functional.adaptive_avg_pool2d(x, (2, 3)),
            functional.adaptive_avg_pool2d(x[..., :2], (3, 4)),
            functional.adaptive_avg_pool2d(x[0].half(), (None, 2)),
        ),
        (IMAGE.where(IMAGE < 1, math.nan),),
    ),
    "folded windows": (
        lambda x: (
            functional.fold(x, (5, 6), (2, 3), padding=1, stride=(2, 3)),
            functional.fold(x[0, :, :2], (3, 5), (3, 2), dilation=(1, 3)),
            functional.fold(x[:, :6], (4, 4), (2, 3), (1, 1), (1, 1), (2, 3)),
        ),
        (numbers(2, 12, 6, seed=13).where(numbers(2, 12, 6, seed=14) < 1, math.inf),),
    ),
    "bags": (
        lambda x, i: (
            functional.embedding_bag(i, x, mode="sum"),
            functional.embedding_bag(i, x, mode="mean"),
            functional.embedding_bag(i, x, mode="mean", padding_idx=-1),
            functional.embedding_bag(i[:, :1], x, mode="sum", padding_idx=0),
        ),
        (BAG_TABLE, torch.tensor([[0, 3, 3], [3, 3, 3], [1, 2, 0]])),
    ),
    "bags in bf16": (
        lambda x, i, f: (
            functional.embedding_bag(i, x, mode="sum"),
            functional.embedding_bag(i, x, mode="mean", padding_idx=1),
            functional.embedding_bag(i, x, mode="sum", per_sample_weights=f),
        ),
        (
            torch.arange(20.0).reshape(4, 5).bfloat16(),
            torch.tensor([[0, 3, 3], [1, 2, 0]]),
            torch.tensor([[1, -2, 0.5], [4, 2, -1]]).bfloat16(),
        ),
    ),
    "rows at places": (
        lambda x, i, y: (
            x.index_copy(1, i[:1], y[:, :1]),
            x.half().index_copy(-1, i[:1], y[..., :1].half()),
            y.index_copy(1, i[:3], x[:, :3]),
            torch.ops.aten.index_put(x, [None, i], y),
            torch.ops.aten.index_put(x, [None, i[:2] - 4], y[0, :2]),
            x.index_put((i[1:3],), torch.tensor(-0.0)),
        ),
        (X, torch.tensor([2, 1, 0, 3]), (X * math.inf).where(X > 0, X.flip(0))),
    ),
    **{
        name: (eval(function), eval(inputs))
        for name, function, inputs in rows(__file__, "rules")
    },
}


def traced(function: Any, *inputs: Any) -> Any:
    """The graph of a function, as Dynamo gives one."""
    graph = make_fx(lambda *x: function(*x), tracing_mode="fake")(*inputs)
    graph.graph.eliminate_dead_code()
    return graph


def same(one: Any, other: Any, **tolerance: float) -> None:
    """NaN in the same places, zeros of the same sign, dtypes and shapes."""
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    torch.testing.assert_close(one, other, equal_nan=True, **tolerance)
    if other.is_floating_point():
        zero = other == 0
        assert torch.equal(one.signbit()[zero], other.signbit()[zero])


def flat(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


def follows(function: Any, inputs: Sequence[Any]) -> None:
    """A function in the ops that rules leave gives what eager gives."""
    graph = traced(function, *inputs)
    before = str(graph.graph)
    results = flat(lowered(graph, inputs)(*inputs))
    assert str(graph.graph) == before
    for one, other in zip(results, flat(function(*inputs)), strict=True):
        same(one, other, rtol=2e-6, atol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_a_rule_gives_what_eager_gives(name: str) -> None:
    follows(*CASES[name])


EXTREMES = [torch.ops.aten.argmax.default, torch.ops.aten.argmin.default]
EXTREMES += [torch.ops.aten.max.dim, torch.ops.aten.min.dim]


@pytest.mark.parametrize("name", sorted(map(str, [*OF_AXES, *EXTREMES])))
def test_what_is_of_axes_alone_is_given_some(name: str) -> None:
    """The importer refuses these ops of tensors without axes, or never ends."""
    op = next(op for op in [*OF_AXES, *EXTREMES] if str(op) == name)
    axis = () if "arg" in name or "aminmax" in name else (0,)
    inputs = (X[0, 0, 0],)
    last = (False,) if name == "aten._softmax.default" else ()
    graph = lowered(traced(lambda x: op(x, *axis, *last), *inputs), inputs)
    read = [n.args[0].meta["val"].dim() for n in graph.graph.nodes if n.target is op]
    assert read == [1] * len(read)
    for one, other in zip(
        flat(graph(*inputs)), flat(op(*inputs, *axis, *last)), strict=True
    ):
        same(one, other)


NARROW: dict[str, Any] = {
    "a chain": lambda x, y: torch.tanh(x * 3) + y,
    "several results": lambda x, y: (*torch.var_mean(x, 1), y.amin()),
    "a product": lambda x, y: x @ y.mT,
    "moves": lambda x, y: torch.cat([x.flip(0), y.exp()]),
    "counts": lambda x, y: (x > y, x.argmax(1), x + 0.1 - x == 0.1, x.float()),
    "read twice": lambda x, y: (x + x, (x + x) * y),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", NARROW)
def test_narrow_floats_compute_in_f32_and_are_rounded(name: str, dtype: Any) -> None:
    function, inputs = NARROW[name], (X[0].to(dtype), X[1].to(dtype))
    graph = lowered(traced(function, *inputs), inputs)
    computed = {
        node.meta["val"].dtype
        for node in graph.graph.nodes
        if str(node.target).split(".")[1:2] in (["tanh"], ["mul"], ["exp"], ["amin"])
    }
    assert computed <= {torch.float32}
    for one, other in zip(flat(graph(*inputs)), flat(function(*inputs)), strict=True):
        same(one, other)


F32, HALVES = numbers(4, 6), numbers(4, 6).half()
PLACES = torch.tensor([[1, 3], [2, 0]])

LEFT = {name: line for name, *line in rows(__file__, "ops_left")}
"""Functions, their arguments, and why no group takes some of their ops."""


@pytest.mark.parametrize("name", LEFT)
def test_what_no_group_takes_has_a_reason(name: str) -> None:
    function, inputs = map(eval, LEFT[name][:2])
    reasons = [*filter(None, LEFT[name][2].split(" | "))]
    graph = traced(function, *inputs)
    nodes = [node for node in graph.graph.nodes if node.op == "call_function"]
    texts = [f"{n.target} ({partition.why_not(n)})" for n in nodes]
    unseen = [text for text in texts if "getitem" not in text and "()" not in text]
    assert sorted(set(unseen)) == reasons
    told = {reason.removesuffix(" (unknown)") for reason in reasons}
    assert told <= {*partition.eager_ops(graph)}


class Layer(torch.nn.Module):
    """A layer of an LSTM, as Dynamo gives one."""

    def __init__(self, is_reversed: bool, mode: int = 2) -> None:
        super().__init__()
        self.is_reversed, self.mode = is_reversed, mode

    def forward(self, x: Any, *weights: Any) -> Any:
        options = [], self.mode, 3, 1, True, False, False, False
        op = torch.ops.aten.mkldnn_rnn_layer.default
        return op(x, *weights, self.is_reversed, *options)[:3]


LSTM = [
    numbers(*shape, seed=13 + n)
    for n, shape in enumerate(
        [(5, 2, 4), (12, 4), (12, 3), (12,), (12,), (1, 2, 3), (1, 2, 3)]
    )
]
"""Of 5 steps, 2 sequences, 4 inputs and 3 units."""


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_layer_of_an_lstm_is_its_steps(is_reversed: bool) -> None:
    layer = Layer(is_reversed)
    graph = traced(layer, *LSTM)
    (op,) = graph.graph.find_nodes(
        op="call_function", target=torch.ops.aten.mkldnn_rnn_layer.default
    )
    assert not partition.why_not(op)
    for one, other in zip(lowered(graph, LSTM)(*LSTM), layer(*LSTM), strict=True):
        same(one, other, rtol=2e-6, atol=1e-6)


def test_other_recurrent_layers_are_left() -> None:
    call = [*LSTM, False, [], 2, 3, 1, True, False, False, False]
    said = [
        recurrent.why_not([*call[:9], *call[9:14], False, is_on]) for is_on in (0, 1)
    ]
    assert said == ["", "under training"]
    for place, value in ((8, [2, 1]), (9, 3), (11, 2), (13, True)):
        other = [*call]
        other[place] = value
        assert recurrent.why_not(other).startswith("no single layer of an LSTM")


def test_variances_of_narrow_floats_have_both_results() -> None:
    results = lowered(traced(torch.var_mean, HALVES), (HALVES,))
    for one, other in zip(results(HALVES), torch.var_mean(HALVES), strict=True):
        same(one, other)


@pytest.mark.parametrize(
    ("function", "within", "outside"),
    [pytest.param(*row[1:], id=row[0]) for row in LOOKUPS],
)
def test_places_are_within_from_the_first_to_the_last(
    function: Any, within: list[Any], outside: list[Any]
) -> None:
    places = [*map(torch.tensor, within + outside)]
    graphs = {p.shape: traced(function, _TABLE, p) for p in places}
    outside_of = [is_outside(graphs[p.shape], _TABLE, p) for p in places]
    assert outside_of == [False] * len(within) + [True] * len(outside)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_classes_that_are_ignored_are_not_outside(dtype: torch.dtype) -> None:
    def function(x: Any, t: Any) -> Any:
        return functional.nll_loss(x, t.long(), ignore_index=200)

    for classes, outside in (([0, 200, 3], False), ([0, 5, 4], True)):
        t = torch.tensor(classes).to(dtype)
        graph = traced(function, _TABLE[:3, :4], t)
        assert is_outside(graph, _TABLE[:3, :4], t) == outside


def test_what_looks_nothing_up_is_not_checked() -> None:
    assert with_test(traced(torch.relu, F32)) is None


@pytest.mark.parametrize("count", [4, 5])
def test_known_places_are_checked_once(count: int) -> None:
    graph = traced(lambda x: x[torch.arange(count)], F32)
    assert with_test(graph) is None
    assert are_known_outside(graph) == (count == 5)


def inverted(order: Any, first: int = 0) -> Any:
    """The places of an order, counted from a number on."""
    count = torch.arange(first, first + len(order))
    return torch.empty_like(order).index_put((order,), count)


@pytest.mark.parametrize(
    ("places", "is_checked"),
    [
        (lambda x: x.argsort(0)[:, 0] // 2, False),
        (lambda x: (x * 9).long().clamp(0, 4), False),
        (lambda x: (x * 9).long() % 5, False),
        (lambda x: (x > 0).long().flip(0), False),
        (lambda x: inverted(x[:, 0].argsort()), False),
        (lambda x: inverted(x[:, 0].argsort(), 1), True),
        (lambda x: x.sort(0).indices.gather(0, (x > 0).long()), False),
        (lambda x: (x * 9).long().clamp(0, 5), True),
        (lambda x: (x * 9).long().clamp(-1, 4) // 2, True),
        (lambda x: (x * 9).long().clamp(max=4), True),
        (lambda x: (x * 9).long() % 6, True),
        (lambda x: x.argsort(0) // -2, True),
    ],
)
def test_places_that_cannot_be_outside_are_not_checked(
    places: Any, is_checked: bool
) -> None:
    graph = traced(lambda x: x[places(x)], _TABLE)
    assert (with_test(graph) is not None) == is_checked

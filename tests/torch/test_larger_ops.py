"""Rules of scatters, sorts, running sums and intervals, beside eager."""

import logging
import math
from typing import Any

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.nn import functional

from morello.torch.group import read_model
from morello.torch.larger_ops import resizing
from morello.torch.lowering import lowered
from morello.torch.options import Options
from tests.torch.test_rules import FIRST, IMAGE, PAIRS, X, flat, numbers, same, traced

pytestmark = pytest.mark.quick

CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rows that are added": (
        lambda x, i: (
            x.index_add(1, i, x[:, :3]),
            x.index_add(-1, i, x[..., :3], alpha=-2),
            x.scatter_add(1, i.reshape(1, 3, 1).expand_as(x[:, :3]), x[:, :3]),
            x.index_put((i - 1,), x[0, 0], accumulate=True),
            x.index_put((i, i - 1), x[0, :3], accumulate=True),
            x.index_fill(2, i, 7.0),
            x.take(i * 20 - 1),
            i.index_put((i,), i + 5),
        ),
        (X, torch.tensor([2, 0, 2])),
    ),
    "scattered": (
        lambda x, i: (
            x.scatter(0, i, x * 2),
            x.scatter(1, i, 7.0),
            x.scatter_add(2, i, x),
            *(x.scatter_reduce(1, i, x, how) for how in ("amax", "amin", "prod")),
            x.scatter_reduce(1, i, x, "sum", include_self=False),
        ),
        (X, torch.tensor([2, 1, 0]).reshape(3, 1, 1)),
    ),
    "scattered in a row": (
        lambda x, i: (
            x.scatter(0, i, 7.0),
            x.sign().scatter(-1, x.nan_to_num(0).long().abs() % 3, 1),
            x.scatter(0, i, x[1:]),
            x.scatter(0, torch.tensor([1]), 1),
            x.scatter_add(0, torch.tensor([1, 1]), x),
            x.index_fill(0, torch.tensor([0, -1]), 2),
            (i + 1).index_fill(-1, torch.tensor([0]), 2),
        ),
        (FIRST[:5], torch.tensor([2, 0, 1])),
    ),
    "truths that are added": (
        lambda x, i: (
            (x > 0).index_put((i,), x[0] > 0, accumulate=True),
            (x > 0).scatter_add(1, i.expand_as(x), x > -1),
            (x > 0).scatter_add(-1, (i + torch.arange(3).unsqueeze(1)) % 3, x > -1),
            (x[0] > 0).index_put((i,), x[0] > -9, accumulate=True),
        ),
        (X[0, :3, :3], torch.tensor([2, 0, 2])),
    ),
    "scattered in part": (
        lambda x, i: (
            x.scatter(1, i[:2, :, 1:4], x * 2),
            x.scatter(0, i[:2, :, 1:4], math.nan),
            x.scatter_add(-1, i[:2, 1:], x),
            x.scatter_add(1, i[:1, :1].expand(3, 2, 5), x),
            x.scatter_reduce(2, i[1:, :2], x, "amax", include_self=False),
            x.scatter_reduce(1, i[1:, :2], x, "mean"),
            i.scatter(0, i * 0 + torch.arange(3).flip(0).reshape(3, 1, 1), i - 7),
            (x > 0).scatter(0, i * 0 + torch.arange(3).flip(0).reshape(3, 1, 1), x < 1),
            x[0, 0].scatter(0, i[0, 0], x[1, 1]),
        ),
        (
            X,
            torch.arange(45).reshape(3, 3, 5) * 7 % 11 % 3,
        ),
    ),
    "where a mask is true": (
        lambda x, m: (
            x.index_put((m,), torch.tensor(math.nan)),
            x.index_put((m[:, 0, 0],), torch.tensor(3.0)),
            x.masked_scatter(m, x.flip(0) * 2),
            x[0].masked_scatter(m[:, :1], x * 2),
            x.masked_scatter(torch.zeros_like(m), x[0, 0, :1]),
        ),
        (X, X > 0),
    ),
    "orders": (
        lambda x: (
            *x.sort(dim=0, stable=True),
            *x.sort(dim=0, stable=True, descending=True),
            (x > 0).sort(dim=0).values,
            x.topk(3, sorted=False, largest=False).values.sort().values,
            *x[0].sort(),
            *x[0].topk(1),
        ),
        (torch.tensor([-1.0, math.inf, 0.5, math.nan, -math.inf, 3e38]),),
    ),
    "running": (
        lambda x: (
            x.cumsum(1),
            x.half().cumsum(-1),
            x.cumprod(0),
            x[0, 0, 0].cumsum(0),
            (x * 9).cumsum(0, dtype=torch.int32),
            (x * 99).int().cumprod(1, dtype=torch.int32),
            (x * 99).int().cumsum(2, dtype=torch.float32),
        ),
        (X,),
    ),
    "running specials": (lambda x: (x.cumsum(0), x.cumprod(0)), (FIRST[5:],)),
    "intervals": (
        lambda x, e: (
            torch.bucketize(x, e),
            torch.bucketize(x, e, right=True, out_int32=True),
            torch.searchsorted(x[:11].sort().values.nan_to_num(9), e),
            torch.searchsorted(e.repeat(11, 1), x.reshape(11, -1), side="right"),
            torch.histc(x, 5, -3, 2.5),
            torch.histc(x.abs(), 3, 0, 7),
        ),
        (FIRST, torch.tensor([-2.5, -0.5, 0.0, 0.0, 0.5, 2.5, 3e38])),
    ),
    "sampled images": (
        lambda x, t: (
            functional.grid_sample(
                x, functional.affine_grid(t, (2, 3, 2, 3), False), align_corners=False
            )
            + 1
        ),
        (IMAGE, numbers(2, 2, 3)),
    ),
    "samples at any places": (
        lambda x, g: [
            functional.grid_sample(x, g, mode, padding, corners)
            for mode in ("bilinear", "nearest")
            for padding in ("zeros", "border")
            for corners in (False, True)
        ],
        (
            numbers(2, 3, 5, 7, seed=31).where(numbers(2, 3, 5, 7) < 2, math.inf),
            torch.tensor([-1.2, -1.0, -0.5, 0.0, 0.37, 1.0, 1.5, 1e9, math.inf])
            .repeat(16)
            .reshape(2, 6, 6, 2)
            .where(numbers(2, 6, 6, 2, seed=32) < 2, math.nan),
        ),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_a_rule_gives_what_eager_gives(name: str) -> None:
    function, inputs = CASES[name]
    result = flat(lowered(traced(function, *inputs), inputs)(*inputs))
    for one, other in zip(result, flat(function(*inputs)), strict=True):
        same(one, other, rtol=2e-6, atol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
def test_running_extremes_are_exact(dtype: Any, dim: int) -> None:
    """The last of equal extremes counts, also of zeros of two signs; NaN beats all."""
    torch._dynamo.reset()
    x = PAIRS.T.reshape((22, -1) if dim == 0 else (-1, 22))
    if not dtype.is_floating_point:  # of which the extremes are exact
        ends = torch.iinfo(torch.int32)
        x = x.nan_to_num(0).clamp(-9, 9).to(dtype)
        x = x.where(x.float().abs() < 9, torch.tensor(ends.min).to(dtype))

    def function(x: Any) -> Any:
        return (*x.cummax(dim), *x.cummin(dim))

    options = {"wait": True, "threads": 1, "time_limit": 0.2}
    fast = torch.compile(function, backend="morello", options=options)
    for one, other in zip(fast(x), function(x), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(one.nan_to_num(1).signbit(), other.nan_to_num(1).signbit())


@torch.library.custom_op("morello_tests::products_of_groups", mutates_args=())
def products_of_groups(
    rows: torch.Tensor, weights: torch.Tensor, ends: torch.Tensor
) -> torch.Tensor:
    """Products of groups of rows by a matrix each, as language models call them."""
    places = [0, *ends.tolist()]
    groups = zip(places, places[1:], weights, strict=False)
    return torch.cat([rows[start:end] @ weight for start, end, weight in groups])


@products_of_groups.register_fake
def _(rows: Any, weights: Any, ends: Any) -> Any:
    del ends
    return rows.new_empty(len(rows), weights.shape[2])


def _mixture(x: Any, gate: Any, up: Any, down: Any) -> Any:
    """A mixture of experts, whose rows are sorted by the expert."""
    shares, chosen = (x @ gate).softmax(-1).topk(2)
    expert, order = chosen.flatten().sort()
    counts = torch.histc(expert.float(), len(up), 0, len(up) - 1)
    ends = counts.cumsum(0, dtype=torch.int32)
    inner = torch.relu(products_of_groups(x[order // 2], up, ends))
    rows = products_of_groups(inner, down, ends) * shares.flatten()[order, None]
    return torch.zeros_like(x).index_add(0, order // 2, rows)


def test_rows_are_added_by_one_place_each() -> None:
    """Sums of neighbours, as layers of graphs compute them."""

    def layer(x: Any, i: Any) -> Any:
        wide = i[:, None].expand(-1, x.shape[1])
        return x.scatter_add(0, wide, x[i]) + x.index_add(0, i, x[:3])

    inputs = X[0], torch.tensor([2, 0, 2])
    simple = lowered(traced(layer, *inputs), inputs)
    assert simple is not None
    targets = [str(node.target) for node in simple.graph.nodes]
    assert targets.count("aten.index_put.default") == 2
    assert "aten.scatter_add.default" not in targets


@pytest.mark.sampled(2)
def test_all_but_products_of_groups_is_compiled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "morello.torch")
    inputs = [numbers(*s, seed=len(s)) for s in [(6, 8), (8, 3), (3, 8, 4), (3, 4, 8)]]
    options = {"wait": True, "threads": 1}
    result = torch.compile(_mixture, backend="morello", options=options)(*inputs)
    same(result, _mixture(*inputs), rtol=1e-5, atol=1e-5)
    told = [record.getMessage() for record in caplog.records]
    left = "ops that no group takes: morello_tests.products_of_groups.default"
    assert left in told
    assert sum(text.startswith("compiled a group of ") for text in told) == 3


RESIZED: dict[str, tuple[tuple[int, ...], tuple[Any, ...]]] = {
    "linear": ((13,), (26, 7, 13, 1)),
    "bilinear": ((9, 14), ((18, 28), (4, 30), (20, 5), (1, 1), (9, 14))),
    "bicubic": ((9, 14), ((18, 28), (4, 30), (20, 5), (1, 1), (9, 14))),
    "trilinear": ((3, 5, 4), ((6, 10, 8), (2, 9, 4), (1, 1, 1))),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mode", RESIZED)
def test_images_are_resized_by_their_neighbours(mode: str, dtype: Any) -> None:
    """Each axis by itself, as many lookups as it has neighbours."""
    shape, sizes = RESIZED[mode]
    image = numbers(2, 3, *shape).to(dtype)
    options: list[Any] = [{"size": size} for size in sizes]
    options += [{"scale_factor": 1.7}, {"scale_factor": 0.6}]
    options += [{"size": size, "align_corners": True} for size in sizes]
    options += [{"scale_factor": 1.7, "recompute_scale_factor": True}]
    for option in options:

        def function(x: Any, option: Any = option) -> Any:
            return functional.interpolate(x, mode=mode, **option)

        with resizing.whole():
            graph = traced(function, image)
        (_, op, _) = graph.graph.nodes
        assert str(op.target).startswith("aten.upsample")
        plain = lowered(graph, (image,))
        calls = [str(node.target) for node in plain.graph.nodes]
        each = 4 if mode == "bicubic" else 2
        assert calls.count("aten.index_select.default") == each * len(shape)
        # Eager rounds the parts of narrow floats, too.
        wanted = function(image.float()).to(dtype)
        rtol = 1e-5 if dtype is torch.float32 else 2**-7
        same(plain(image), wanted, rtol=rtol, atol=2e-6)


def test_ops_are_whole_in_a_trace_alone() -> None:
    def nodes() -> int:
        with enable_python_dispatcher():  # as AOT autograd traces
            graph = traced(
                lambda x: functional.interpolate(x, (9, 9), None, "bicubic"), IMAGE
            )
        return len(graph.graph.nodes)

    before = nodes()
    with resizing.whole():
        assert nodes() == 3
    assert nodes() == before > 3


@pytest.mark.quick
@pytest.mark.parametrize("choice", [None, False, True])
def test_products_of_attention_flush_where_they_may(choice: bool | None) -> None:
    options = Options(flushing=choice)
    flushing = options.flushes
    inputs = [torch.zeros(1, 2, 8, 16, dtype=torch.bfloat16) for _ in range(3)]
    graph = traced(torch.nn.functional.scaled_dot_product_attention, *inputs)
    model = read_model(lowered(graph, inputs), (), options)
    (part,) = model.parts
    assert part.kind.flushing == flushing
    assert ("narrow_bf16(v2)" in part.kind.text) == flushing


def test_factors_that_are_copies_of_narrow_numbers_are_read_as_they_are() -> None:
    inputs = [torch.zeros(1, n, 8, 16, dtype=torch.bfloat16) for n in (4, 2, 2)]
    graph = traced(
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, enable_gqa=True
        ),
        *inputs,
    )
    simple = lowered(graph, inputs)
    models = [read_model(simple, (), Options(flushing=f)) for f in (False, True)]
    counts = [len(model.parts) for model in models]
    assert counts[0] == counts[1]

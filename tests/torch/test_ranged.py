"""Graphs whose batch is dynamic: one program for all sizes."""

import logging
from typing import Any

import pytest
import torch
from torch import nn

from morello.torch import ranged

WAIT = {"wait": True, "threads": 1}


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="morello.torch")
    torch._dynamo.reset()
    return caplog


def messages(told: pytest.LogCaptureFixture, start: str) -> list[str]:
    return [r.message for r in told.records if r.message.startswith(start)]


class Centred(nn.Module):
    """Rows less their mean, whose share follows from the batch."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Center any number of rows."""
        return x - x.mean(0)


class Residual(nn.Module):
    """A block of a convolutional network, and the mean of its images."""

    def __init__(self) -> None:
        super().__init__()
        layers = (nn.Conv2d(3, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3))
        self.convolved = nn.Sequential(*layers, nn.ReLU(), nn.Conv2d(3, 3, 1))
        self.last = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> Any:
        """Classify any number of images."""
        return self.last(torch.relu(x + self.convolved(x)).mean((2, 3)))


class Pooled(nn.Module):
    """Looks rows up, which eager does, and computes four for each of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.first = nn.Linear(8, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, places: Any) -> Any:
        x = self.table(places)
        return self.last((x + torch.relu(self.first(x)))[:, 0])


class Counted(nn.Module):
    """Counts places but for one of padding, as RoBERTa, and how far they are apart: of
    one place more than there are; and masks rows, as attention does."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, places: Any) -> Any:
        is_word = places.ne(1)
        counts = is_word.int().cumsum(1) * is_word + 1
        wide = torch.cat([counts[:, :1] - 1, counts], 1)
        size = places.shape[1]
        steps = wide[:, 1 : size + 1] - wide[:, :size]
        rows = self.last(self.table(counts)) * steps.float().unsqueeze(-1)
        rows = rows.masked_fill(~is_word.unsqueeze(-1), 0.5)
        return rows + torch.where(is_word, 0.0, -3.0).unsqueeze(-1)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4), nn.LayerNorm(4))


@pytest.mark.sampled(2)
def test_places_and_masks_alone_are_computed_by_eager(
    told: pytest.LogCaptureFixture,
) -> None:
    model = Counted().eval()
    fast = torch.compile(model, backend="morello", options={**WAIT, "batch": 4})
    for words in (3, 2, 4):
        x = torch.randint(0, 4, (2, words))
        torch._dynamo.mark_dynamic(x, 1)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert len(messages(told, "compiled a group")) == 1
    assert not messages(told, "a graph is compiled for each shape")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("which", ["rows", "places", "mean", "images"])
def test_one_compilation_for_every_size(
    which: str, told: pytest.LogCaptureFixture
) -> None:
    models: dict[str, Any] = {"rows": mlp, "places": Pooled, "mean": Centred}
    models["images"] = Residual
    model = models[which]().eval()
    fast = torch.compile(model, backend="morello", options={**WAIT, "batch": 4})
    for rows in (3, 2, 4):
        x = torch.randn(rows, 4)
        if which == "places":
            x = torch.randint(0, 10, (rows, 4))
        if which == "images":
            x = torch.randn(rows, 3, 4, 4)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert len(messages(told, "compiled a group")) == 1
    assert not messages(told, "a graph is compiled for each shape")


@pytest.mark.sampled(2)
def test_sizes_outside_are_compiled_for_themselves(
    told: pytest.LogCaptureFixture,
) -> None:
    model = nn.Sequential(nn.LayerNorm(8), nn.ReLU()).eval()
    fast = torch.compile(model, backend="morello", options={**WAIT, "batch": 4})
    for rows in (2, 5, 4, 5, 3):
        x = torch.randn(rows, 8)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    model[0].weight.mul_(2)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert len(messages(told, "compiled a group")) == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x.var(0), "which each call says"),
        (
            lambda x: torch.relu(x).double().view(-1)[: x.shape[0] ** 2],
            "depends on the size",
        ),
        (lambda x: torch.relu(x.t()), "not row-major"),
    ],
    ids=["variance", "rows", "transpose"],
)
def test_what_depends_on_the_batch_otherwise_is_compiled_for_each_shape(
    function: Any, reason: str, told: pytest.LogCaptureFixture
) -> None:
    fast = torch.compile(function, backend="morello", options={**WAIT, "batch": 4})
    for rows in (3, 4):
        x = torch.randn(rows, 4)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(fast(x), function(x), rtol=1e-4, atol=1e-5)
    (message,) = messages(told, "a graph is compiled for each shape")
    assert reason in message


def test_what_eager_computes_between_groups_takes_the_size(
    told: pytest.LogCaptureFixture,
) -> None:
    def function(x: Any) -> Any:
        rows = x.shape[0]
        wide = torch.relu(x).double().view(2 * rows, 2).cumsum(1)
        ones = torch.ones([rows, 2], dtype=torch.float64).view(-1)
        return wide.view(rows, 4).float() + 1.0, ones

    fast = torch.compile(function, backend="morello", options={**WAIT, "batch": 4})
    for rows in (3, 4, 2):
        x = torch.randn(rows, 4)
        torch._dynamo.mark_dynamic(x, 0)
        for result, wanted in zip(fast(x), function(x), strict=True):
            torch.testing.assert_close(result, wanted)
    assert not messages(told, "a graph is compiled for each shape")


def test_several_threads(told: pytest.LogCaptureFixture) -> None:
    def function(x: Any) -> Any:
        return torch.relu(x) + 1.0

    options = {**WAIT, "threads": 2, "batch": 8}
    fast = torch.compile(function, backend="morello", options=options)
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(fast(x), function(x))
    assert not messages(told, "a graph is compiled for each shape")


def test_the_range_of_a_symbol() -> None:
    ranges: list[Any] = []

    def note(graph: Any, inputs: Any) -> Any:
        ranges.append(ranged._batch(graph, 9))
        return graph.forward

    x = torch.randn(4, 3)
    torch._dynamo.reset()
    torch._dynamo.mark_dynamic(x, 0, min=3, max=7)
    fast = torch.compile(lambda x: x + 1.0, backend=_with_values(note))
    fast(x)
    (batch,) = ranges
    assert batch.sizes == range(3, 8)


def _with_values(note: Any) -> Any:
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(fw_compiler=note)


class Decoder(nn.Module):
    """Queries of one token beside a cache of the keys and values before it."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Linear(16, 3 * 16)
        self.out = nn.Linear(16, 16)

    def forward(self, x: Any, past: Any) -> Any:
        """The sum over the tokens so far, and the cache with this one."""
        q, *new = self.rows(x).view(1, 1, 3, 2, 8).transpose(1, 3).unbind(2)
        keys, values = (torch.cat(pair, dim=2) for pair in zip(past, new, strict=True))
        attention = nn.functional.scaled_dot_product_attention(q, keys, values)
        return self.out(attention.transpose(1, 2).reshape(1, 1, 16)), (keys, values)


@pytest.mark.sampled(3)
def test_a_cache_that_grows(told: pytest.LogCaptureFixture) -> None:
    """Groups that read weights are compiled once; a cache of any size is eager's."""
    model = Decoder().eval()
    options = {**WAIT, "time_limit": 0.5, "shapes": 2}
    fast = torch.compile(model, backend="morello", options=options)
    past = tuple(torch.randn(1, 2, 4, 8) for _ in range(2))
    for step in range(6):
        x = torch.randn(1, 1, 16)
        wanted, grown = model(x, past)
        torch.testing.assert_close(fast(x, past), (wanted, grown))
        past = grown
        if step == 1:
            before = len(messages(told, "compiled a group"))
    assert len(messages(told, "compiled a group")) == before > 0
    assert not messages(told, "ops stay eager")
    assert not messages(told, "a graph")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("is_causal", [True, False])
def test_masks_of_as_many_queries_as_keys(
    is_causal: bool, told: pytest.LogCaptureFixture
) -> None:
    """A causal mask is a constant, another one an argument; sizes are inner ones."""

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (torch.nn.Linear(8, 8) for _ in range(3))

        def forward(self, x: Any, mask: Any) -> Any:
            q, k, v = (
                layer(x).view(2, -1, 2, 4).transpose(1, 2)
                for layer in (self.q, self.k, self.v)
            )
            attention = nn.functional.scaled_dot_product_attention(
                q, k, v, None if is_causal else mask, is_causal=is_causal
            )
            return x + attention.transpose(1, 2).reshape(x.shape)

    layer = Layer()
    fast = torch.compile(layer, backend="morello", options={**WAIT, "batch": 4})
    for length in (3, 4, 2):
        x, mask = torch.randn(2, length, 8), torch.randn(length, length)
        torch._dynamo.mark_dynamic(x, 1)
        if not is_causal:
            torch._dynamo.mark_dynamic(mask, (0, 1))
        arguments = x, mask if not is_causal else None
        torch.testing.assert_close(
            fast(*arguments), layer(*arguments), rtol=1e-4, atol=1e-5
        )
    assert not messages(told, "a graph is compiled for each shape")
    assert len(messages(told, "compiled a group")) == 1

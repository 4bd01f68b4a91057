"""Models compiled by ``torch.compile(backend="morello")`` compute what eager does."""

import logging
import os
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import morello.torch
from morello.errors import MorelloError
from morello.frontends.held_arrays import ModelArrays
from morello.torch import graph_breaks, group, partition, worker
from tests.child import python

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

WAIT = {"wait": True, "threads": 1, "time_limit": 0.5}


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    """Each test traces its own models, of the same weights."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "morello.torch")
    return caplog


def compiled(told: pytest.LogCaptureFixture) -> int:
    """How many groups were compiled; none was left to eager."""
    messages = [r.message for r in told.records if r.name == "morello.torch"]
    assert not [m for m in messages if "stays eager" in m]
    return sum(m.startswith("compiled a group") for m in messages)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        return x + self.down(functional.gelu(self.up(x)))


class VitBlock(nn.Module):
    """As of a vision transformer: q, k and v are columns of one product."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.heads = heads

    def forward(self, x: Any) -> Any:
        batch, tokens, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Residual(nn.Module):
    def __init__(self, channels: int = 4) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


class Narrow(nn.Module):
    """As a ResNet: a stem, a block that halves the image, a head."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.halved = nn.Conv2d(channels, channels, 3, stride=2, padding=1, bias=False)
        self.beside = nn.Conv2d(channels, channels, 1, stride=2, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(3))
        self.head = nn.Linear(channels, 5)
        for norm in self.norms:
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 1.5)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.norms[0](self.stem(x)))
        y = functional.max_pool2d(y, 3, 2, 1)
        z = self.norms[1](self.halved(y)) + self.norms[2](self.beside(y))
        pooled = functional.adaptive_avg_pool2d(torch.relu(z), 1)
        return self.head(pooled.flatten(1))


MODELS = {
    "mlp": (Mlp, (3, 16)),
    "vit block": (VitBlock, (1, 6, 16)),
    "residual block": (Residual, (1, 4, 6, 6)),
    "narrow resnet": (Narrow, (1, 3, 8, 8)),
}


def close(result: Any, wanted: Any) -> bool:
    return bool(torch.allclose(result, wanted, rtol=1e-4, atol=1e-5))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_one_group(name: str, told: pytest.LogCaptureFixture) -> None:
    make, shape = MODELS[name]
    model = make().eval()
    fast = torch.compile(model, backend="morello", options=WAIT)
    for _ in range(2):
        x = torch.randn(shape)
        assert close(fast(x), model(x))
    assert compiled(told) == 1


def _averaged(weight: Any) -> None:
    weight.data.mul_(0.9).add_(0.1)


def _replaced(weight: Any) -> None:
    """Twice, so that the second takes the memory that the first gave back."""
    weight.data = torch.randn(4, 4, 3, 3)
    weight.data = torch.randn(4, 4, 3, 3)


def _another_part(weight: Any) -> None:
    """Of the same storage, with the same version."""
    weight.data = weight.data.as_strided(weight.shape, weight.stride(), weight.numel())


def _step(weight: Any) -> None:
    weight.grad = torch.ones_like(weight)
    torch.optim.SGD([weight], lr=0.1).step()


UNSEEN = {
    "data in place": lambda w: w.data.add_(1),
    "average by data": _averaged,
    "array of NumPy": lambda w: np.add(w.detach().numpy(), 1, out=w.detach().numpy()),
    "storage": lambda w: w.untyped_storage().copy_(
        torch.randn(2 * w.numel()).untyped_storage()
    ),
    "one sign": lambda w: w.data.view(-1)[7].neg_(),
    "two elements exchanged": lambda w: w.data.view(-1)[:2].copy_(
        w.data.view(-1)[:2].flip(0)
    ),
}
"""Changes of a weight that its counter does not see."""

SEEN = {
    "in place": lambda w: w.mul_(2),
    "another part of one storage": _another_part,
    "data replaced": _replaced,
    "set_": lambda w: w.set_(torch.randn(4, 4, 3, 3)),
    "exchanged": lambda w: torch.utils.swap_tensors(
        w, nn.Parameter(torch.randn(4, 4, 3, 3))
    ),
    "step of an optimizer": _step,
    "channels last": lambda w: setattr(
        w, "data", torch.randn(4, 3, 3, 4).permute(0, 3, 1, 2)
    ),
}


AFTERWARDS = {
    f"{name}, of a weight that is copied": change
    for name, change in UNSEEN.items()
    if name in ("data in place", "array of NumPy")
}
"""The same, where channels are last: what is read is a copy."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("freeze", [False, True])
def test_a_change_of_a_weight_is_seen(
    freeze: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are right after each, and weights are folded anew once."""
    model = Residual().eval()
    fast = torch.compile(model, backend="morello", options={**WAIT, "freeze": freeze})
    x = torch.randn(1, 4, 6, 6)
    computed: list[int] = []
    arrays = ModelArrays.arrays
    monkeypatch.setattr(
        ModelArrays, "arrays", lambda self, ws: computed.append(1) or arrays(self, ws)
    )

    def is_right() -> bool:
        return all(close(fast(x), model(x)) for _ in range(3))

    weight = model.conv1.weight
    shared = torch.from_file(str(tmp_path / "weights"), shared=True, size=288)
    weight.data = shared.normal_().view(2, 4, 4, 3, 3)[0]
    code = (
        f"import numpy; numpy.memmap({str(tmp_path / 'weights')!r}, 'f4', 'r+')[:] += 1"
    )
    changes = SEEN if freeze else UNSEEN | SEEN | AFTERWARDS
    if not freeze:
        changes = {
            "another process": lambda _: python("-c", code, check=True),
            **changes,
        }
    assert is_right()
    for name, change in changes.items():
        before = len(computed)
        change(weight)
        assert (name, is_right(), len(computed) - before) == (name, True, 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("freeze", [False, True])
def test_other_weights_are_seen(freeze: bool) -> None:
    """A module's parameter replaced, and a dictionary that is loaded."""
    model = Residual().eval()
    fast = torch.compile(model, backend="morello", options={**WAIT, "freeze": freeze})
    x = torch.randn(1, 4, 6, 6)
    fast(x)
    model.conv2.weight = nn.Parameter(torch.randn(4, 4, 3, 3))
    assert close(fast(x), model(x))
    other = {name: t.abs() + 1 for name, t in model.state_dict().items()}
    model.load_state_dict(other)
    assert close(fast(x), model(x))
    model.load_state_dict({n: t + 1 for n, t in other.items()}, assign=True)
    assert close(fast(x), model(x))
    model.norm2.running_var.add_(1)
    assert close(fast(x), model(x))


@pytest.mark.parametrize("freeze", [False, True])
def test_weights_of_inference_mode_have_no_counter(freeze: bool) -> None:
    with torch.inference_mode():
        model = nn.Sequential(nn.BatchNorm1d(8), nn.ReLU()).eval()
        options = {**WAIT, "freeze": freeze}
        fast = torch.compile(model, backend="morello", options=options)
        x = torch.randn(4, 8)
        fast(x)
        model[0].running_var.mul_(2)
        assert close(fast(x), model(x))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{"pack": True}, {"freeze": True}])
def test_packed_weights_are_seen(
    options: dict[str, Any], told: pytest.LogCaptureFixture
) -> None:
    model = nn.Linear(32, 64)
    known = {"wait": True, "threads": 1, **options}
    fast = torch.compile(model, backend="morello", options=known)
    x = torch.randn(6, 32)
    fast(x)
    model.weight.add_(1)
    if "freeze" not in options:
        model.weight.data.add_(1)
    assert close(fast(x), model(x))
    assert "its copies of weights in panels take 0.01 MB" in told.text


@pytest.mark.sampled(2)
def test_gradients_are_those_of_eager(told: pytest.LogCaptureFixture) -> None:
    model = VitBlock()
    fast = torch.compile(model, backend="morello", options=WAIT)
    x = torch.randn(1, 6, 16, requires_grad=True)
    with torch.enable_grad():
        wanted = torch.autograd.grad(model(x).square().sum(), [x, *model.parameters()])
        gradients = torch.autograd.grad(
            fast(x).square().sum(), [x, *model.parameters()]
        )
    for one, other in zip(gradients, wanted, strict=True):
        assert close(one, other)
    assert compiled(told) >= 2


def test_it_is_eager_until_the_program_is_found(
    told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    trusted = group.trusted_model

    def slow(text: str, **options: Any) -> Any:
        may_go_on.wait()
        return trusted(text, **options)

    monkeypatch.setattr(group, "trusted_model", slow)
    model = Mlp().eval()
    fast = torch.compile(model, backend="morello", options={**WAIT, "wait": False})
    x = torch.randn(3, 16)
    assert torch.equal(fast(x), model(x))
    assert not morello.torch.wait(timeout=0)
    may_go_on.set()
    assert morello.torch.wait()
    assert close(fast(x), model(x))
    assert compiled(told) == 1


def test_weights_are_read_where_they_lie() -> None:
    model = Mlp().eval()
    fast = torch.compile(model, backend="morello", options=WAIT)
    x = torch.randn(3, 16)
    fast(x)
    for weights in model.parameters():
        weights.add_(0.5)
    assert close(fast(x), model(x))


def test_what_is_not_covered_stays_eager(told: pytest.LogCaptureFixture) -> None:
    model = Mlp().eval()

    def around(x: Any) -> Any:
        return model(torch.cumsum(model(x), 0).logcumsumexp(1))

    fast = torch.compile(around, backend="morello", options=WAIT)
    x = torch.randn(3, 16)
    assert close(fast(x), around(x))
    assert compiled(told) == 2


def _refuse(*arguments: Any, **options: Any) -> Any:
    raise MorelloError("something has no Spec")


@pytest.mark.parametrize(
    ("function", "change", "words"),
    [
        ("morello.torch.group.trusted_model", _refuse, "something has no Spec"),
        (
            "morello.torch.lowering._imported",
            lambda graph: os.abort(),
            "the group makes MLIR end the process that reads it (SIGABRT); write it "
            "in other ops",
        ),
    ],
)
def test_a_group_that_is_refused_stays_eager(
    function: str,
    change: Any,
    words: str,
    told: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tried_first: None,
) -> None:
    monkeypatch.setattr(function, change)
    model = Mlp().eval()
    fast = torch.compile(model, backend="morello", options=WAIT)
    x = torch.randn(3, 16)
    assert torch.equal(fast(x), model(x))
    (message,) = [r.message for r in told.records if "stays eager" in r.message]
    assert "aten.addmm.default" in message
    assert message.endswith(f"stays eager: {words}")


def test_a_group_is_divided_at_what_is_refused(
    told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logarithms of gamma are no Spec; here they are taken for one."""
    more = {torch.ops.aten.lgamma.default}
    monkeypatch.setattr(partition, "KNOWN", partition.KNOWN | more)
    native = []

    class Counted(group.NativeCall):
        def __call__(self, *tensors: Any) -> Any:
            native.append(self)
            return super().__call__(*tensors)

    monkeypatch.setattr(group, "NativeCall", Counted)
    model = Mlp().eval()

    def around(x: Any) -> Any:
        sums = torch.lgamma(model(x))
        return model(torch.relu(sums)).T, sums

    fast = torch.compile(around, backend="morello", options=WAIT)
    x = torch.randn(3, 16)
    for _ in range(2):
        result, wanted = fast(x), around(x)
        for one, other in zip(result, wanted, strict=True):
            assert close(one, other)
            assert one.stride() == other.stride()
    for weights in model.parameters():
        weights.add_(0.5)
    assert close(fast(x)[0], around(x)[0])
    assert len(set(native)) == 2
    assert len(native) == 2 * 3  # of each of three calls
    messages = [r.message for r in told.records]
    assert sum(m.startswith("compiled a group of") for m in messages) == 2
    (message,) = [m for m in messages if "is divided" in m]
    assert message.startswith("a group of aten.")
    assert "aten.lgamma.default stays eager" in message
    assert message.endswith(
        "lgamma: aten.lgamma.default: torch-mlir does not take it with these "
        "arguments; write it in other ops"
    )


FUNCTIONS = {
    "transposed": lambda x, y: (x @ y).T,
    "chunks": lambda x, y: (x @ y.T).chunk(2, -1)[1] * 2,
    "columns": lambda x, y: torch.relu((x @ y.T)[:, 1:4]),
    "in place": lambda x, y: x.add_(1) @ y,
    "causal": lambda x, y: functional.scaled_dot_product_attention(
        x[None, None], y[None, None], y[None, None], is_causal=True
    ),
    "masked": lambda x, y: functional.scaled_dot_product_attention(
        x[None, None], y[None, None], y[None, None], attn_mask=x @ y.T
    ),
    "several": lambda x, y: (x @ y, torch.tanh(x), x.T),
    "integers": lambda x, y: (x @ y).round().int() + 1,
    "in f64": lambda x, y: (x.double() @ y.double()).float(),
    "rows": lambda x, y: x[1:] @ y,
    "broadcast": lambda x, y: x[:, None] * y[None] + x.sum(),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function = FUNCTIONS[name]
    fast = torch.compile(function, backend="morello", options=WAIT)
    x, y = torch.randn(2, 6, 6)
    wanted, result = function(x.clone(), y), fast(x.clone(), y)
    if not isinstance(wanted, tuple):
        wanted, result = (wanted,), (result,)
    for one, other in zip(result, wanted, strict=True):
        assert one.dtype == other.dtype
        assert one.stride() == other.stride()
        assert close(one, other)


def test_arguments_may_lie_anywhere() -> None:
    model = Mlp().eval()
    fast = torch.compile(model, backend="morello", options=WAIT)
    x = torch.randn(32, 6).T[:, ::2]
    assert close(fast(x), model(x))


def test_other_shapes(told: pytest.LogCaptureFixture) -> None:
    """Dynamo makes the second shape a dynamic one; two of it are compiled here."""
    model = nn.Sequential(nn.LayerNorm(16), nn.ReLU()).eval()
    options = {**WAIT, "shapes": 2}
    fast = torch.compile(model, backend="morello", options=options)
    for rows in (3, 5, 7, 9, 11, 5):
        x = torch.randn(rows, 16)
        assert close(fast(x), model(x))
    model[0].weight.mul_(2)
    assert close(fast(x), model(x))
    messages = [r.message for r in told.records if r.name == "morello.torch"]
    assert sum(m.startswith("compiled a group") for m in messages) == 3
    (message,) = [m for m in messages if "stay eager" in m]
    assert message.startswith("a graph has been called with more than 2 shapes")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("is_cast", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_in_narrow_floats(
    dtype: Any, is_cast: bool, told: pytest.LogCaptureFixture
) -> None:
    """As close as eager is: values between ops are rounded less often."""
    model = Residual().eval()
    x = torch.randn(1, 4, 6, 6)
    if not is_cast:
        model, x = model.to(dtype), x.to(dtype)
    fast = torch.compile(model, backend="morello", options=WAIT)
    cast = torch.autocast("cpu", dtype, enabled=is_cast, cache_enabled=False)
    with cast:
        result, eager = fast(x), model(x)
        assert result.dtype == eager.dtype
        assert torch.allclose(result, eager, rtol=2**-6, atol=2**-6)
        model.conv1.weight.mul_(2)
        assert torch.allclose(fast(x), model(x), rtol=2**-6, atol=2**-6)
    assert compiled(told) == 1


def test_other_dtypes_stay_eager_and_are_named(told: pytest.LogCaptureFixture) -> None:
    model = nn.Linear(4, 4).double()
    x = torch.randn(2, 4, dtype=torch.float64)
    result = torch.compile(model, backend="morello", options=WAIT)(x)
    assert torch.equal(result, model(x))
    left, message = [r.message for r in told.records if r.name == "morello.torch"]
    assert left == "ops that no group takes: aten.addmm.default (of torch.float64)"
    assert message.startswith("ops of float64 stay eager, and groups have float32, ")


def _branching(x: Any) -> Any:
    return torch.relu(x) if x.sum() > 0 else torch.tanh(x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (nn.LSTM(4, 4), r"LSTM\(4, 4\).*; Set torch._dynamo.config.allow_rnn=True"),
        (_branching, r"test_backend.py:\d+: .*it branches by the value of a tensor"),
    ],
)
def test_what_dynamo_leaves_is_told(
    function: Any, words: str, told: pytest.LogCaptureFixture
) -> None:
    graph_breaks.watch()
    fast = torch.compile(function, backend="morello", options=WAIT)
    fast(torch.randn(3, 4))
    assert re.search(words, told.text)


def test_the_share_of_eager_is_told_once(told: pytest.LogCaptureFixture) -> None:
    def function(x: Any) -> Any:
        return torch.tanh(x).logcumsumexp(1) * 2

    fast = torch.compile(function, backend="morello", options=WAIT)
    x = torch.randn(3, 8)
    for _ in range(4):
        assert torch.allclose(fast(x), function(x))
    shares = [r.message for r in told.records if r.message.startswith("eager has")]
    assert len(shares) == 1
    match = re.fullmatch(
        r"eager has (.*)% of the time of a call: aten.logcumsumexp.default (.*)%",
        shares[0],
    )
    assert match is not None
    assert match[1] == match[2]
    assert 0 < float(match[1]) < 100


def test_numbers_of_pythons_random_are_read_as_they_were_traced() -> None:
    numbers = random.Random(3)

    def scaled(x: Any) -> Any:
        return x * 2 if numbers.random() < 0 else x * 3

    x = torch.ones(2, 2)
    compiled = torch.compile(scaled, backend="morello", options=WAIT)
    assert torch.equal(compiled(x), x * 3)


def test_the_backend_is_listed() -> None:
    assert "morello" in torch._dynamo.list_backends()


def test_without_torch_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None\nimport morello.torch"
    run = python("-c", code)
    assert "ImportError: morello.torch needs the package torch: pip i" in run.stderr


@pytest.mark.sampled(4)
def test_a_search_does_not_keep_a_process(tmp_path: Any) -> None:
    """It ends with a search of minutes on the way."""
    code = """
import torch, time, morello.torch
model = torch.nn.MultiheadAttention(768, 12, batch_first=True).eval()
fast = torch.compile(lambda x: model(x, x, x)[0], backend="morello")
with torch.no_grad():
    fast(torch.randn(1, 197, 768))
print("was compiled before the end:", morello.torch.wait(0))
"""
    run = python("-W", "ignore", "-c", code)
    assert (run.returncode, run.stdout) == (0, "was compiled before the end: False\n")
    assert "Traceback" not in run.stderr


def test_where_no_thread_can_be_made_a_group_is_compiled_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    done: list[str] = []
    monkeypatch.setattr(worker, "_worker", worker._Worker())
    monkeypatch.setattr(threading.Thread, "start", start)
    worker.submit(lambda: done.append("compiled")).result(timeout=0)
    assert done == ["compiled"]
    assert worker.wait(0)

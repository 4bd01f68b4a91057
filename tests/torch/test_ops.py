"""Each op of a group, by the definition of the parts that it becomes; no search."""

import copy
import logging
import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install -e '.[test-frameworks]'"
)

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from morello.frontends.model import trusted_model  # noqa: E402
from morello.torch import group, lowering  # noqa: E402
from morello.torch.group import Group  # noqa: E402
from morello.torch.lowering import linalg_bytecode  # noqa: E402
from morello.torch.native_call import array_of  # noqa: E402

pytestmark = [
    pytest.mark.quick,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


class Of(nn.Module):
    """A function as a module, with parameters of some shapes."""

    def __init__(self, function: Any, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.function = function
        self.own = nn.ParameterList(torch.randn(shape) for shape in shapes)

    def forward(self, *tensors: Any) -> Any:
        return self.function(*tensors, *self.own)


def attend(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def share(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def rotated(x: Any, cosine: Any, sine: Any) -> Any:
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


def losses(x: Any, y: Any) -> Any:
    rows = torch.linalg.vector_norm(x, dim=1) + x.logsumexp(1) + x.std(1) + x @ y[0]
    scalars = [
        functional.mse_loss(x, y),
        functional.huber_loss(x, y, delta=0.5),
        functional.smooth_l1_loss(x, y),
        functional.logsigmoid(x).sum(),
    ]
    return rows * torch.stack(scalars).sum()


def moves(x: Any) -> Any:
    wide = functional.pad(x, (1, 1, 1, 1), mode="replicate").roll((1, -1), (2, 3))
    return functional.pixel_shuffle(wide, 2).repeat(2, 1, 1, 1) + 2.0 ** x.sum()


def gates(x: Any, w: Any) -> Any:
    i, f, g, o = (x @ w).chunk(4, 1)
    return torch.sigmoid(o) * torch.tanh(torch.sigmoid(i) * torch.tanh(g) + f)


MASK = torch.tensor([[0.0, -np.inf, 1.0], [-np.inf] * 3, [0.5, 0.0, -np.inf]])

MODULES: dict[str, tuple[nn.Module, tuple[Any, ...]]] = {
    "activations": (
        nn.Sequential(
            nn.LeakyReLU(), nn.ELU(), nn.Softplus(), nn.Mish(), nn.Hardtanh(-0.5, 2)
        ),
        (torch.randn(3, 8),),
    ),
    "attention with a mask": (Of(attend), (*torch.randn(3, 1, 2, 3, 4), MASK)),
    "attention of heads that share keys": (
        Of(share),
        (torch.randn(1, 4, 3, 4), *torch.randn(2, 1, 2, 3, 4)),
    ),
    "average pooling": (nn.AvgPool2d(2), (torch.randn(1, 3, 6, 6),)),
    "integers that are near": (
        Of(lambda x: torch.floor(x * 3) + torch.ceil(x) * torch.round(x)),
        (torch.randn(3, 8),),
    ),
    "convolution in groups": (
        nn.Conv2d(8, 8, 3, padding=1, groups=2),
        (torch.randn(2, 8, 4, 4),),
    ),
    "convolution of 1 dimension": (
        nn.Conv1d(4, 8, 3, stride=2, padding=1),
        (torch.randn(1, 4, 9),),
    ),
    "convolution of 3 dimensions": (
        nn.Conv3d(2, 4, 3, padding=1),
        (torch.randn(1, 2, 4, 4, 4),),
    ),
    "dropout that is off": (
        nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.LogSoftmax(-1)).eval(),
        (torch.randn(3, 8),),
    ),
    "gates of an LSTM": (Of(gates, (8, 16)), (torch.randn(4, 8),)),
    "gelu": (nn.GELU(approximate="tanh"), (3 * torch.randn(64),)),
    "group norm": (nn.GroupNorm(2, 8), (torch.randn(2, 8, 4, 4),)),
    "hard functions": (
        nn.Sequential(nn.Hardswish(), nn.Hardsigmoid()),
        (3 * torch.randn(16),),
    ),
    "instance norm": (nn.InstanceNorm2d(4, affine=True), (torch.randn(1, 4, 5, 5),)),
    "inverted residual": (
        nn.Sequential(
            nn.Conv2d(4, 8, 1), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        ),
        (torch.randn(1, 4, 5, 5),),
    ),
    "losses": (Of(losses), (torch.randn(3, 8), torch.randn(3, 8))),
    "moves": (Of(moves), (torch.randn(1, 4, 3, 3),)),
    "rotary embedding": (
        Of(rotated),
        (torch.randn(1, 2, 3, 8), torch.randn(3, 8), torch.randn(3, 8)),
    ),
    "upsampling by a transposed convolution": (
        nn.ConvTranspose2d(4, 3, 2, 2),
        (torch.randn(2, 4, 3, 5),),
    ),
    "variance": (Of(lambda x: x.var(1) + x.mean()), (torch.randn(3, 8),)),
}


def tensor_of(array: Any) -> Any:
    if array.dtype == np.float32:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)


IN_BF16 = ("attention with a mask", "gates of an LSTM", "group norm", "losses", "moves")
BOTH = [(name, False) for name in MODULES] + [(name, True) for name in IN_BF16]


@pytest.mark.parametrize(("name", "is_bf16"), BOTH)
def test_an_op_is_taken(
    name: str,
    is_bf16: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "morello.torch")
    defined = []

    def define(self: Group, simple: Any) -> None:
        model = trusted_model(linalg_bytecode(simple), weights=self._weights)

        def run(*tensors: Any) -> Any:
            arrays = [array_of(t.detach().contiguous()) for t in tensors]
            found = model.evaluate(*arrays)
            defined.append(model)
            return tuple(map(tensor_of, found if isinstance(found, tuple) else [found]))

        self._run = run

    monkeypatch.setattr(group.Group, "_compile", define)
    module, given = MODULES[name]
    bound = 1e-5
    if is_bf16:
        module = copy.deepcopy(module).bfloat16()
        given, bound = tuple(x.bfloat16() for x in given), 2**-6
    torch._dynamo.reset()
    fast = torch.compile(module, backend="morello", options={"wait": True})
    with torch.no_grad():
        found, wanted = fast(*given), module(*given)
    assert found.dtype == wanted.dtype
    assert torch.allclose(found, wanted, rtol=bound, atol=bound)
    assert len(defined) == 1
    assert not caplog.records


def test_what_has_no_spec_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[Any] = []
    monkeypatch.setattr(Group, "start", groups.append)
    module = nn.ConvTranspose2d(4, 3, 3, 2)
    x = torch.randn(1, 4, 3, 3)
    torch._dynamo.reset()
    with torch.no_grad():
        assert torch.equal(torch.compile(module, backend="morello")(x), module(x))
    assert not groups


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
    with torch.no_grad(), config:
        torch.testing.assert_close(fast(x), module(x))
    assert re.search(words, caplog.text)


@pytest.mark.parametrize("scale", [0.0, -0.5, None])
def test_a_scale_of_attention_may_be_zero(scale: float | None) -> None:
    q, k, v = torch.randn(3, 1, 2, 6, 8)
    wanted = functional.scaled_dot_product_attention(q, k, v, scale=scale)
    found, _ = lowering._attention(q, k, v, scale=scale)
    torch.testing.assert_close(found, wanted)

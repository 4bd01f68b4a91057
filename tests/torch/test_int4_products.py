"""Products with weights of 4 bits as PyTorch packs them are what eager computes."""

from typing import Any

import pytest
import torch

import morello.torch
from morello.torch.larger_ops import packed_products

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

K, GROUP = 64, 32

aten: Any = torch.ops.aten


class Layer(torch.nn.Module):
    """A layer whose products are exact: integers, and powers of two."""

    def __init__(
        self, dtype: torch.dtype, k: int = K, n: int = 80, group: int = GROUP
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        integers = torch.randint(0, 16, (n, k), generator=generator, dtype=torch.int32)
        packed = aten._convert_weight_to_int4pack_for_cpu(integers, 1)
        powers = torch.randint(-1, 2, (k // group, n, 2), generator=generator)
        self.group = group
        self.register_buffer("packed", packed)
        self.register_buffer("scales", torch.exp2(powers.float()).to(dtype))
        self.bias = torch.nn.Parameter(torch.arange(n).to(dtype) % 8)

    def forward(self, x: Any) -> Any:
        y = aten._weight_int4pack_mm_for_cpu(x, self.packed, self.group, self.scales)
        return torch.relu(y + self.bias)


def activations(rows: int, dtype: torch.dtype, k: int = K) -> Any:
    return (torch.arange(rows * k).reshape(rows, k) % 5 - 2).to(dtype)


def compiled(function: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    known = {"wait": True, "threads": 1}
    return torch.compile(function, backend="morello", options={**known, **options})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("freeze", [False, True])
def test_a_layer_is_what_eager_computes(
    freeze: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whole and narrow blocks of columns, one call of the activation and its bias."""
    layer, x = Layer(torch.float32), activations(1, torch.float32)
    caplog.set_level("INFO")
    run = compiled(layer, freeze=freeze)
    for _ in range(2):
        torch.testing.assert_close(run(x), layer(x), rtol=0, atol=0)
        layer.packed.bitwise_xor_(0x5A)
        layer.scales.mul_(2)
    assert "/2,d0]-8.0)" in caplog.text
    assert "eager" not in caplog.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("group", "rows", "dtype"),
    [(32, 3, torch.bfloat16), (64, 1, torch.float16), (256, 5, torch.float32)],
)
def test_groups_and_dtypes(
    group: int, rows: int, dtype: torch.dtype, caplog: pytest.LogCaptureFixture
) -> None:
    """Narrow activations give narrow results, without ``freeze``, too."""
    layer, x = Layer(dtype, 256, 64, group), activations(rows, dtype, 256)
    caplog.set_level("INFO")
    result, eager = compiled(layer)(x), layer(x)
    assert "]-8.0)" in caplog.text
    assert result.dtype == eager.dtype == dtype
    torch.testing.assert_close(result, eager, rtol=1e-2, atol=1e-2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("n", "block"), [(80, 64), (128, 32)])
def test_layouts_of_both_instruction_sets(
    n: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes written element by element."""
    monkeypatch.setattr(packed_products, "packed_columns", lambda: block)
    integers = torch.arange(n * K).reshape(n, K) * 7 // 3 % 16
    packed = torch.zeros(n * K // 2, dtype=torch.uint8)
    for column in range(n):
        start = column // block * block
        width = min(block, n - start)
        high, byte = divmod(column - start, width // 2)
        if width < block:
            byte, high = divmod(column - start, 2)
        places = start * K // 2 + torch.arange(K) * (width // 2) + byte
        packed[places] |= (integers[column] << 4 * high).to(torch.uint8)
    layer, x = Layer(torch.float32, n=n), activations(3, torch.float32)
    layer.packed = packed.reshape(n, K // 2)
    kernel = morello.torch.export(layer, (x,))
    scales, zeros = layer.scales.repeat_interleave(GROUP, 0).unbind(-1)
    wanted = torch.relu(x @ ((integers.T - 8) * scales + zeros) + layer.bias)
    assert torch.equal(torch.from_numpy(kernel(x)), wanted)


@pytest.mark.sampled(2)
def test_an_exported_layer_reads_halves_of_bytes() -> None:
    layer, x = Layer(torch.float32, n=128), activations(3, torch.float32)
    kernel = morello.torch.export(layer, (x,))
    assert torch.equal(torch.from_numpy(kernel(x)), layer(x))
    held = [p.shape for p in kernel.parameters if p.dtype.name == "uint8"]
    assert [torch.Size(shape).numel() for shape in held] == [K * 128 // 2]


def test_weights_that_a_call_gives_stay_eager(caplog: pytest.LogCaptureFixture) -> None:
    layer, x = Layer(torch.float32), torch.ones(1, K)
    caplog.set_level("INFO")

    def product(x: Any, packed: Any, scales: Any) -> Any:
        return aten._weight_int4pack_mm_for_cpu(x, packed, GROUP, scales)

    inputs = x, layer.packed, layer.scales
    assert torch.equal(compiled(product)(*inputs), product(*inputs))
    assert "with weights that a call gives" in caplog.text

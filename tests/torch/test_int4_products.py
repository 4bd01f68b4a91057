"""Products with weights of 4 bits as PyTorch packs them are what eager computes."""

from typing import Any

import pytest
import torch

import morello.torch  # noqa: F401

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

K, N, GROUP = 64, 80, 32


class Layer(torch.nn.Module):
    """A layer whose products are exact: integers, and powers of two."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        integers = torch.randint(0, 16, (N, K), generator=generator, dtype=torch.int32)
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(integers, 1)
        powers = torch.randint(-1, 2, (K // GROUP, N, 2), generator=generator)
        self.register_buffer("packed", packed)
        self.register_buffer("scales", torch.exp2(powers.float()).to(dtype))

    def forward(self, x: Any) -> Any:
        y = torch.ops.aten._weight_int4pack_mm_for_cpu(
            x, self.packed, GROUP, self.scales
        )
        return torch.relu(y) + 1


def compiled(function: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    known = {"wait": True, "threads": 1, "target": "avx2{relayouts=0}"}
    return torch.compile(function, backend="morello", options={**known, **options})


@pytest.mark.parametrize("freeze", [False, True])
def test_a_layer_is_what_eager_computes(
    freeze: bool, caplog: pytest.LogCaptureFixture
) -> None:
    layer, x = Layer(torch.float32), torch.arange(-K / 2, K / 2)[None] % 4 - 1
    caplog.set_level("INFO")
    run = compiled(layer, freeze=freeze)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(run(x), layer(x), rtol=0, atol=0)
            layer.packed.bitwise_xor_(0x5A)
            layer.scales.mul_(2)
    assert "compiled a product with packed weights" in caplog.text


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_activations_give_narrow_results(dtype: torch.dtype) -> None:
    layer = Layer(dtype)
    x = (torch.arange(3 * K).reshape(3, K) % 5 - 2).to(dtype)
    with torch.no_grad():
        result, eager = compiled(layer, freeze=True)(x), layer(x)
    assert result.dtype == eager.dtype == dtype
    torch.testing.assert_close(result, eager, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("pack", [False, True])
def test_narrow_activations_are_eager_where_weights_are_not_packed(
    pack: bool, caplog: pytest.LogCaptureFixture
) -> None:
    layer, x = Layer(torch.bfloat16), torch.ones(3, K).bfloat16()
    caplog.set_level("INFO")
    with torch.no_grad():
        compiled(layer, pack=pack)(x)
    assert ("packed weights" in caplog.text) == pack


def test_weights_that_a_call_gives_stay_eager(
    caplog: pytest.LogCaptureFixture,
) -> None:
    layer, x = Layer(torch.float32), torch.ones(1, K)
    caplog.set_level("INFO")

    def product(x: Any, packed: Any, scales: Any) -> Any:
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, GROUP, scales)

    given = x, layer.packed, layer.scales
    assert torch.equal(compiled(product)(*given), product(*given))
    assert "packed weights" not in caplog.text

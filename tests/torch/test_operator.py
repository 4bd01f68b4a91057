"""A kernel as an operator of PyTorch."""

import pytest
import torch

import morello.torch
from morello.errors import ArgumentError, CompileError

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("spec", "dtypes"),
    [("matmul:3x4x5:f32", "f32"), ("matmul:3x4x5:bf16,bf16,f32", "bf16")],
)
def test_opcheck_passes(spec: str, dtypes: str) -> None:
    kernel = morello.compile(spec)
    product = morello.torch.operator(kernel)
    assert morello.torch.operator(kernel) is product
    dtype = torch.float32 if dtypes == "f32" else torch.bfloat16
    x, w = torch.randn(3, 4).to(dtype), torch.randn(8, 5).to(dtype)[::2]
    wanted = x.float() @ w.float()
    assert torch.allclose(product(x, w), wanted, rtol=1e-5, atol=1e-5)
    torch.library.opcheck(product, (x, w))


def test_a_batch_of_one_is_left_out_where_all_leave_it_out() -> None:
    product = morello.torch.operator(morello.compile("matmul:3x4x5:f32"))
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    for lhs, rhs in ((x[None], w[None]), (x[None], w), (x, w[None])):
        result = product(lhs, rhs)
        assert result.shape == (1, 3, 5)
        assert torch.allclose(result[0], x @ w, rtol=1e-5, atol=1e-5)
        torch.library.opcheck(product, (lhs, rhs), test_utils="test_faketensor")
    assert product(x, w).shape == (3, 5)


def test_it_is_exported() -> None:
    product = morello.torch.operator(morello.compile("matmul:3x4x5:f32"))

    class Layer(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return torch.relu(product(x, w))

    x, w = torch.randn(3, 4), torch.randn(4, 5)
    program = torch.export.export(Layer(), (x, w))
    assert product in [node.target for node in program.graph.nodes]
    result = program.module()(x, w)
    assert torch.allclose(result, torch.relu(x @ w), rtol=1e-5, atol=1e-5)


def test_what_does_not_fit_is_refused() -> None:
    product = morello.torch.operator(morello.compile("matmul:3x4x5:f32"))
    with pytest.raises(ArgumentError, match=r"'rhs' is torch\.float32"):
        product(torch.randn(3, 4), torch.randn(5, 4))
    with pytest.raises(ArgumentError, match="not a kernel"):
        morello.torch.operator(torch.relu)
    adding = morello.compile("matmul_accum:3x4x5:f32")
    with pytest.raises(CompileError, match="is added to"):
        morello.torch.operator(adding)


def test_kernels_of_equal_code_are_operators_of_their_own() -> None:
    """Layers of equal shapes, whose weights each kernel holds, and other dtypes."""
    x = torch.randn(3, 4)
    layers = [torch.nn.Linear(4, 5) for _ in range(2)]
    for layer in layers:
        result = morello.torch.operator(morello.torch.export(layer, (x,)))(x)
        assert torch.allclose(result, layer(x), rtol=1e-5, atol=1e-5)
    for dtype in (torch.int8, torch.uint8):
        bytes_ = torch.arange(12, dtype=dtype).reshape(3, 4)
        copy = morello.compile(
            f"move:3x4:{'su'[dtype is torch.uint8]}8",
        )
        assert torch.equal(morello.torch.operator(copy)(bytes_), bytes_)

"""Functions element by element, compiled: the bits of the definition everywhere."""

import numpy as np
import pytest

import morello
from morello.spec.kind import each
from morello.spec.text.labels import MAPS

SPECIAL = np.asarray(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, -104, 88.8, 1, -1],
    np.float32,
)

CASES = [
    *(f"{name}:5x37:f32" for name in MAPS),
    *(
        f"{name}:3x4x19:{dtype}"
        for name in ("exp", "gelu", "add", "maximum")
        for dtype in ("bf16", "f16")
    ),
    "tanh:9x40:f32:x0=[1,0]",
    "sub:9x40:f32:x1=[1,0]:v0=[1,0]",
    "exp:1000:f32",
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", CASES)
def test_it_has_the_bits_of_the_definition(text: str) -> None:
    """Also for infinities, denormal numbers and either zero; NaN is NaN."""
    kernel = morello.compile(text, threads=1)
    spec = kernel.spec
    rng = np.random.default_rng(0)
    logical = [4 * rng.standard_normal(spec.sizes, np.float32) for _ in spec.tensors]
    inputs = []
    for place, array in enumerate(logical[:-1]):
        flat = array.reshape(-1)
        flat[: len(SPECIAL)] = np.roll(SPECIAL, 5 * place)
        with np.errstate(over="ignore"):  # 3e38 is infinite in f16
            inputs.append(array.astype(spec.dtypes[place].numpy))
    (wanted,) = each(spec.outputs(*inputs))
    names = [operand.name for operand in spec.kind.operands]
    packed = [kernel.pack(a, name) for a, name in zip(inputs, names, strict=False)]
    result = kernel(*packed)
    if result.shape != wanted.shape:  # column-major
        result = result.T
    assert np.array_equal(np.isnan(result), np.isnan(wanted))
    numbers = ~np.isnan(wanted)
    assert result[numbers].tobytes() == wanted[numbers].tobytes()


@pytest.mark.parametrize("target", ["avx2", "avx512"])
@pytest.mark.parametrize(
    "text", ["softmax:3x19:f16", "move:7x33:f32,f16", "residual_matmul:5x7x9:f16"]
)
def test_instructions_cast_f16(text: str, target: str) -> None:
    """No function does, which no process has; also of parts of vectors."""
    asm = morello.compile(text, threads=1, target=target, time_limit=1).asm
    assert "vcvtps2ph" in asm
    assert "hf2" not in asm
    assert "call" not in asm


def test_threads_share_a_map() -> None:
    kernel = morello.compile("add:64x1000:f32", threads=2)
    a, b = np.random.default_rng(1).standard_normal((2, 64, 1000), np.float32)
    assert np.array_equal(kernel(a, b), a + b)

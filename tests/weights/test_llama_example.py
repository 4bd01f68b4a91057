"""The example that decodes with a GGUF file, against NumPy in f64."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")

from morello.weights import ScaledWeights, in_bytes, read_gguf  # noqa: E402

Array = np.ndarray[Any, np.dtype[Any]]
EXAMPLE = Path(__file__).parents[2] / "examples" / "llama.py"
LAYERS, WIDTH, HEADS, GROUPS, INNER, VOCABULARY = 2, 128, 4, 2, 192, 160
DEPTH, EPSILON, BASE = WIDTH // HEADS, 1e-5, 10000.0
PROMPT = (3, 141, 59)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights of q4_0."""
    model_file = tmp_path_factory.mktemp("llama") / "model.gguf"
    rng, kind = np.random.default_rng(0), gguf.GGMLQuantizationType.Q4_0
    file = gguf.GGUFWriter(str(model_file), "llama")
    file.add_block_count(LAYERS)
    file.add_embedding_length(WIDTH)
    file.add_head_count(HEADS)
    file.add_head_count_kv(GROUPS)
    file.add_layer_norm_rms_eps(EPSILON)
    file.add_rope_freq_base(BASE)

    def matrix(name: str, outputs: int, inputs: int) -> None:
        numbers = rng.standard_normal((outputs, inputs), np.float32) / inputs**0.5
        quantised = gguf.quants.quantize(numbers, kind)
        file.add_tensor(f"{name}.weight", quantised, raw_dtype=kind)

    def norm(name: str) -> None:
        numbers = 1 + rng.standard_normal(WIDTH, np.float32) / 10
        file.add_tensor(f"{name}.weight", numbers)

    matrix("token_embd", VOCABULARY, WIDTH)
    matrix("output", VOCABULARY, WIDTH)
    norm("output_norm")
    for layer in (f"blk.{i}" for i in range(LAYERS)):
        for name, outputs in (("q", WIDTH), ("k", GROUPS * DEPTH)):
            matrix(f"{layer}.attn_{name}", outputs, WIDTH)
        matrix(f"{layer}.attn_v", GROUPS * DEPTH, WIDTH)
        matrix(f"{layer}.attn_output", WIDTH, WIDTH)
        matrix(f"{layer}.ffn_gate", INNER, WIDTH)
        matrix(f"{layer}.ffn_up", INNER, WIDTH)
        matrix(f"{layer}.ffn_down", WIDTH, INNER)
        norm(f"{layer}.attn_norm")
        norm(f"{layer}.ffn_norm")
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return model_file


class Reference:
    """The scores after some tokens, all of them at once, in f64."""

    def __init__(self, path: Path, activations: str) -> None:
        self.file, self.activations = read_gguf(path), activations

    def product(self, x: Array, name: str) -> Array:
        """x @ weights, of bytes where activations are."""
        weights = self.file[f"{name}.weight"]
        assert isinstance(weights, ScaledWeights)
        if self.activations == "s8":
            scales, numbers = in_bytes(x.astype(np.float32), weights.group)
            x = np.repeat(scales.astype(np.float64), weights.group, axis=1) * numbers
        result: Array = x @ weights.values().astype(np.float64)
        return result

    def norm(self, x: Array, name: str) -> Array:
        """Rows over the root of their mean square, times weights."""
        scale = np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON)
        result: Array = x / scale * np.asarray(self.file[f"{name}.weight"])
        return result

    def heads(self, x: Array, count: int, turned: bool = True) -> Array:
        """Heads before places, turned by their place as complex numbers."""
        parts = x.reshape(len(x), count, DEPTH).swapaxes(0, 1)
        if not turned:
            return parts
        half = DEPTH // 2
        angles = np.outer(np.arange(len(x)), BASE ** (-np.arange(half) / half))
        numbers = (parts[..., ::2] + 1j * parts[..., 1::2]) * np.exp(1j * angles)
        pairs = np.stack((numbers.real, numbers.imag), axis=-1)
        return pairs.reshape(parts.shape)

    def attention(self, x: Array, layer: str) -> Array:
        """Each place sees itself and those before."""
        q = self.heads(self.product(x, f"{layer}.attn_q"), HEADS)
        k = self.heads(self.product(x, f"{layer}.attn_k"), GROUPS)
        v = self.heads(self.product(x, f"{layer}.attn_v"), GROUPS, turned=False)
        k, v = (np.repeat(part, HEADS // GROUPS, axis=0) for part in (k, v))
        scores = q @ k.swapaxes(1, 2) / np.sqrt(DEPTH)
        scores += np.triu(np.full(scores.shape[1:], -np.inf), 1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ v).swapaxes(0, 1).reshape(len(x), WIDTH)

    def scores(self, tokens: tuple[int, ...]) -> Array:
        """A row of scores after each token."""
        embedding = self.file["token_embd.weight"]
        assert isinstance(embedding, ScaledWeights)
        x = embedding.values().T[list(tokens)].astype(np.float64)
        for layer in (f"blk.{i}" for i in range(LAYERS)):
            seen = self.attention(self.norm(x, f"{layer}.attn_norm"), layer)
            x = x + self.product(seen, f"{layer}.attn_output")
            normal = self.norm(x, f"{layer}.ffn_norm")
            gate = self.product(normal, f"{layer}.ffn_gate")
            inner = gate / (1 + np.exp(-gate)) * self.product(normal, f"{layer}.ffn_up")
            x = x + self.product(inner, f"{layer}.ffn_down")
        return self.product(self.norm(x, "output_norm"), "output")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("activations", "bound"), [("f32", 1e-4), ("s8", 5e-2)])
def test_scores_are_those_of_numpy(path: Path, activations: str, bound: float) -> None:
    """Where activations are bytes, one that lies between two of them may become the
    other in f32."""
    example = runpy.run_path(str(EXAMPLE))
    model = example["Model"](read_gguf(path), 8, activations)
    wanted = Reference(path, activations).scores(PROMPT)
    scores = np.stack([model.step(token) for token in PROMPT])
    np.testing.assert_allclose(scores, wanted, atol=bound)
    if activations == "s8":
        exact = Reference(path, "f32").scores(PROMPT)
        assert np.abs(scores - wanted).mean() < np.abs(exact - wanted).mean() / 4


@pytest.mark.sampled(3)
def test_tokens_are_printed_with_their_rate(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    argv = [str(path), "--tokens", "4", "--context", "8", "--prompt", *map(str, PROMPT)]
    main(argv)
    tokens, rate = capsys.readouterr().out.splitlines()
    scores = Reference(path, "f32").scores(PROMPT)
    assert len(tokens.split()) == 4
    assert int(tokens.split()[0]) == int(np.argmax(scores[-1]))
    assert rate.endswith("tokens a second")
    with pytest.raises(SystemExit):
        main([*argv, "--context", "5"])
    assert "--context is less than the tokens" in capsys.readouterr().err

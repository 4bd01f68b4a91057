"""Decode with a Llama of a GGUF file, its weights packed in 4 bits, and say how fast.

    python examples/llama.py model.gguf --tokens 32 --activations s8

Each kernel is compiled once, for the first layer, and called with the weights of every
layer. Nothing depends on the number of tokens before: the cache of keys and values has
the length of the context, and a mask hides what is not there yet.
"""

import argparse
import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import morello
from morello.weights import Gguf, ScaledWeights, in_bytes, read_gguf

Array = np.ndarray[Any, np.dtype[np.float32]]


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes of a model."""

    layers: int
    width: int
    heads: int
    groups: int
    """Heads of keys and values, each of several of queries."""
    base: float
    epsilon: float

    @classmethod
    def of(cls, file: Gguf) -> "Config":
        """The sizes in the metadata of a file."""
        names = ("block_count", "embedding_length", "attention.head_count")
        layers, width, heads = (int(file.metadata[f"llama.{n}"]) for n in names)
        return cls(
            layers,
            width,
            heads,
            int(file.metadata["llama.attention.head_count_kv"]),
            float(file.metadata.get("llama.rope.freq_base", 1e4)),
            float(file.metadata["llama.attention.layer_norm_rms_epsilon"]),
        )

    @property
    def depth(self) -> int:
        """Numbers of a head."""
        return self.width // self.heads


@functools.cache
def compiled(spec: str) -> morello.Kernel:
    """The kernel of a Spec, searched for once."""
    return morello.compile(spec, threads=1)


class Linear:
    """x @ weights for one row of x, the weights packed as the search chose."""

    def __init__(
        self, weights: ScaledWeights, activations: Literal["f32", "s8"]
    ) -> None:
        first = 2 if activations == "s8" else 1
        names = [f"x{first + i}" for i in range(len(weights.arguments))]
        layouts = "".join(f":{name}=any" for name in names)
        self.kernel = compiled(weights.spec(1, activations) + layouts)
        self.group = weights.group if activations == "s8" else 0
        self.weights = [
            self.kernel.pack(array, name)
            for array, name in zip(weights.arguments, names, strict=True)
        ]

    def __call__(self, x: Array) -> Array:
        """A row of outputs."""
        arguments = in_bytes(x, self.group) if self.group else (x,)
        y: Array = self.kernel(*arguments, *self.weights)
        return y


class Model:
    """Weights, kernels and the cache of one sequence."""

    def __init__(
        self, file: Gguf, context: int, activations: Literal["f32", "s8"]
    ) -> None:
        self.config = config = Config.of(file)
        self.embedding = _wide(file["token_embd.weight"])
        self.layers = [
            {
                name: self._part(file[f"blk.{layer}.{name}.weight"], activations)
                for name in (*_PRODUCTS, "attn_norm", "ffn_norm")
            }
            for layer in range(config.layers)
        ]
        self.norm = _wide(file["output_norm.weight"])
        output = "output.weight" if "output.weight" in file else "token_embd.weight"
        self.output = self._part(file[output], activations)
        shape = config.layers, config.groups, context, config.depth
        self.keys, self.values = np.zeros((2, *shape), np.float32)
        self.mask = np.full(context, -np.inf, np.float32)
        self.past = 0

        self.rms = compiled(f"rms_norm:1x{config.width}:f32:eps={config.epsilon}")
        each, scale = config.heads // config.groups, config.depth**-0.5
        self.attention = compiled(
            f"compose:{config.heads}x{context}x{config.depth}x{config.depth}:f32:graph="
            f"s[h,t]=sum(q[h,d]*k[h//{each},t,d]);z[h,t]=s*{scale}+b[t];m[h]=max(z);"
            f"p[h,t]=exp(z-m);l[h]=sum(p);o[h,e]=sum(p*v[h//{each},t,e]);y[h,e]=o/l"
        )
        inner = file["blk.0.ffn_up.weight"].shape[-1]
        self.gate = compiled(f"compose:1x{inner}:f32:graph=y[m,n]=silu(g[m,n])*u[m,n]")

    @staticmethod
    def _part(tensor: Any, activations: Literal["f32", "s8"]) -> Any:
        if isinstance(tensor, ScaledWeights):
            return Linear(tensor, activations)
        return np.asarray(tensor, np.float32)

    def step(self, token: int) -> Array:
        """The scores of each token to come after one."""
        config, at = self.config, self.past
        self.mask[at] = 0
        x = self.embedding[token : token + 1]
        for layer, keys, values in zip(
            self.layers, self.keys, self.values, strict=True
        ):
            normal = self.rms(x, layer["attn_norm"])
            q = self._turned(layer["attn_q"](normal), config.heads, at)
            keys[:, at] = self._turned(layer["attn_k"](normal), config.groups, at)
            values[:, at] = layer["attn_v"](normal).reshape(config.groups, config.depth)
            seen = self.attention(q, keys, self.mask, values)
            x = x + layer["attn_output"](seen.reshape(1, config.width))
            normal = self.rms(x, layer["ffn_norm"])
            inner = self.gate(layer["ffn_gate"](normal), layer["ffn_up"](normal))
            x = x + layer["ffn_down"](inner)
        self.past += 1
        scores: Array = self.output(self.rms(x, self.norm))[0]
        return scores

    def _turned(self, x: Array, heads: int, at: int) -> Array:
        """Rotary embedding: pairs of neighbours of each head turned by their place."""
        half = self.config.depth // 2
        angles = at * self.config.base ** (-np.arange(half) / half)
        pairs = x.reshape(heads, half, 2)
        real, imaginary = np.cos(angles), np.sin(angles)
        even, odd = pairs[..., 0], pairs[..., 1]
        turned = np.stack(
            (even * real - odd * imaginary, even * imaginary + odd * real), axis=-1
        )
        return turned.reshape(heads, 2 * half).astype(np.float32)


_PRODUCTS = (
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_output",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
)


def _wide(tensor: Any) -> Array:
    """A tensor in f32, with outputs first where it is a matrix."""
    if isinstance(tensor, ScaledWeights):
        return np.ascontiguousarray(tensor.values().T)
    return np.asarray(tensor, np.float32)


def decode(model: Model, prompt: Sequence[int], count: int) -> list[int]:
    """The tokens that score best after a prompt, one after another."""
    for token in prompt:
        scores = model.step(token)
    tokens = [int(np.argmax(scores))]
    while len(tokens) < count:
        tokens.append(int(np.argmax(model.step(tokens[-1]))))
    return tokens


def main(argv: Sequence[str] | None = None) -> None:
    """Decode some tokens and print them with their number a second."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", help="a GGUF file of a Llama")
    parser.add_argument("--tokens", type=int, default=32, help="to decode")
    parser.add_argument("--prompt", type=int, nargs="+", default=[1], help="tokens")
    parser.add_argument("--context", type=int, default=512, help="most tokens")
    parser.add_argument("--activations", choices=("f32", "s8"), default="f32")
    args = parser.parse_args(argv)
    if len(args.prompt) + args.tokens - 1 > args.context:
        parser.error("--context is less than the tokens of prompt and answer")
    model = Model(read_gguf(args.file), args.context, args.activations)
    start = time.perf_counter()
    tokens = decode(model, args.prompt, args.tokens)
    rate = (len(args.prompt) + len(tokens) - 1) / (time.perf_counter() - start)
    print(*tokens)
    print(f"{rate:.1f} tokens a second")


if __name__ == "__main__":
    main()

"""Whole models by their configurations, of random weights, and one batch for each.

`transformers` has the code of most of them. It is imported when a model is made.
"""

import importlib
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, tuple[torch.Tensor, ...]]


class Named(nn.Module):
    """A model of `transformers` as a function of tensors that returns tensors.

    Args:
        inner: the model.
        names: its arguments, in their order.
        results: the attributes of what it returns.
        fixed: arguments that are no tensors.
    """

    def __init__(
        self, inner: Any, names: list[str], *results: str, **fixed: Any
    ) -> None:
        super().__init__()
        self.inner, self.names, self.results, self.fixed = inner, names, results, fixed

    def forward(self, *tensors: Any) -> Any:
        named = dict(zip(self.names, tensors, strict=True))
        whole = self.inner(**named, **self.fixed)
        return tuple(getattr(whole, name) for name in self.results)


class Step(nn.Module):
    """A step of a decoder: one token after those whose keys and values are arguments.

    It returns the logits, and keys and values with one row more.
    """

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.cache = importlib.import_module("transformers").DynamicCache

    def forward(self, token: Any, *past: Any) -> Any:
        cache = self.cache(list(zip(past[::2], past[1::2], strict=True)))
        logits = self.inner(token, cache=cache, use_cache=True).logits
        rows = [t for layer in cache.layers for t in (layer.keys, layer.values)]
        return (logits, *rows)


class Recurrent(nn.Module):
    """Two layers of an LSTM, and a linear one."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.LSTM(128, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 40)

    def forward(self, x: Any) -> Any:
        return self.head(self.inner(x)[0])


class Recommender(nn.Module):
    """Eight tables of which rows are summed, products of all pairs, two perceptrons."""

    def __init__(self) -> None:
        super().__init__()
        tables = (nn.EmbeddingBag(10000, 64, mode="sum") for _ in range(8))
        self.tables = nn.ModuleList(tables)
        self.bottom = nn.Sequential(
            nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 64), nn.ReLU()
        )
        self.top = nn.Sequential(
            *(nn.Linear(64 + 36, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU()),
            *(nn.Linear(256, 1), nn.Sigmoid()),
        )
        i, j = torch.tril_indices(9, 9, -1)
        self.register_buffer("pairs", i * 9 + j)

    def forward(self, dense: Any, places: Any) -> Any:
        x = self.bottom(dense)
        rows = [x] + [t(places[:, n]) for n, t in enumerate(self.tables)]
        stacked = torch.stack(rows, 1)
        inner = torch.bmm(stacked, stacked.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, inner[:, self.pairs]], 1))


def _tokens(count: int, words: int) -> torch.Tensor:
    return torch.randint(0, words, (1, count))


def _of(name: str, **options: Any) -> Any:
    """A model of `transformers` by the name of its class, and its configuration's."""
    transformers = importlib.import_module("transformers")
    model = getattr(transformers, name)
    return model(model.config_class(**options))


def _bert() -> Made:
    inner = _of("BertModel")
    return Named(inner, ["input_ids"], "last_hidden_state"), (_tokens(128, 30000),)


def _gpt2() -> Made:
    inner = _of("GPT2LMHeadModel")
    model = Named(inner, ["input_ids"], "logits", use_cache=False)
    return model, (_tokens(64, 50000),)


def _vit() -> Made:
    inner = _of("ViTForImageClassification", num_labels=1000)
    return Named(inner, ["pixel_values"], "logits"), (torch.randn(1, 3, 224, 224),)


def _llama() -> Any:
    return _of(
        "LlamaForCausalLM",
        vocab_size=8000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=4,
        max_position_embeddings=1024,
    )


def _llama_prefill() -> Made:
    model = Named(_llama(), ["input_ids"], "logits", use_cache=False)
    return model, (_tokens(64, 8000),)


def _llama_step() -> Made:
    past = [torch.randn(1, 4, 512, 64) for _ in range(16)]
    return Step(_llama()), (_tokens(1, 8000), *past)


def _whisper() -> Made:
    inner = _of(
        "WhisperModel",
        d_model=384,
        encoder_layers=4,
        decoder_layers=4,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
    )
    names = ["input_features", "decoder_input_ids"]
    model = Named(inner, names, "last_hidden_state", use_cache=False)
    return model, (torch.randn(1, 80, 3000), _tokens(16, 50000))


def _t5() -> Made:
    inner = _of("T5EncoderModel")
    return Named(inner, ["input_ids"], "last_hidden_state"), (_tokens(128, 32000),)


def _clip() -> Made:
    names = ["input_ids", "pixel_values"]
    model = Named(_of("CLIPModel"), names, "text_embeds", "image_embeds")
    return model, (_tokens(77, 49000), torch.randn(1, 3, 224, 224))


def _vocoder() -> Made:
    inner = _of("SpeechT5HifiGan", upsample_initial_channel=256)
    return inner, (torch.randn(1, 32, 80),)


MODELS: dict[str, Any] = {
    "bert": _bert,
    "gpt2": _gpt2,
    "vit": _vit,
    "llama": _llama_prefill,
    "llama-step": _llama_step,
    "whisper": _whisper,
    "t5": _t5,
    "clip": _clip,
    "lstm": lambda: (Recurrent(), (torch.randn(1, 32, 128),)),
    "recommender": lambda: (
        Recommender(),
        (torch.randn(128, 13), torch.randint(0, 10000, (128, 8, 4))),
    ),
    "vocoder": _vocoder,
}
"""BERT base and 128 tokens, GPT-2 and 64, ViT-B/16, a Llama of 8 layers, 1024 wide,
that reads 64 tokens and one after 512, Whisper tiny (encoder, and 16 tokens of the
decoder), T5 small's encoder, CLIP (ViT-B/32 and 77 tokens), an LSTM, a recommender,
HiFi-GAN."""

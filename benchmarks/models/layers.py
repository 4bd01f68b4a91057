"""The layers of models as Specs, for one input, f32.

A layer with the same shape as another one is written once, with how often a forward
pass runs it. Convolutions of 1x1 with a stride of 1 are products of filters and pixels.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer of a model.

    Args:
        name: what it is in the model.
        spec: its text.
        times: how often a forward pass runs it.
    """

    name: str
    spec: str
    times: int = 1

    @property
    def is_product(self) -> bool:
        """Whether libraries for matrices have it."""
        return self.spec.startswith("matmul:")


def _transformer(
    tokens: int, width: int, inner: int, heads: int, layers: int
) -> tuple[Layer, ...]:
    """An encoder with GELU: heads of 64 wide."""
    return (
        Layer("q, k, v and output", f"matmul:{tokens}x{width}x{width}:f32", 4 * layers),
        Layer("up", f"matmul:{tokens}x{width}x{inner}:f32", layers),
        Layer("up, bias, gelu", f"gelu_matmul:{tokens}x{width}x{inner}:f32", layers),
        Layer("down", f"matmul:{tokens}x{inner}x{width}:f32", layers),
        Layer("attention", f"attention:{heads}x{tokens}x{tokens}x64x64:f32", layers),
        Layer("norm", f"layer_norm:{tokens}x{width}:f32", 2 * layers),
    )


def _llama(tokens: int, keys: int) -> tuple[Layer, ...]:
    """16 layers, 2048 wide, 32 heads, 8 of keys and values."""
    return (
        Layer("q and output", f"matmul:{tokens}x2048x2048:f32", 32),
        Layer("k and v", f"matmul:{tokens}x2048x512:f32", 32),
        Layer("gate and up", f"matmul:{tokens}x2048x8192:f32", 32),
        Layer("down", f"matmul:{tokens}x8192x2048:f32", 16),
        Layer("attention", f"attention:32x{tokens}x{keys}x64x64:f32", 16),
        Layer("norm", f"rms_norm:{tokens}x2048:f32", 33),
    )


def _conv(inputs: int, size: int, filters: int, window: int, stride: int = 1) -> str:
    options = f":pad={window // 2}" if window > 1 else ""
    options += f":stride={stride}" if stride > 1 else ""
    shape = f"1x{inputs}x{size}x{size}x{filters}x{window}x{window}"
    return f"conv:{shape}:f32{options}"


def _stage(width: int, inputs: int, size: int, blocks: int) -> tuple[Layer, ...]:
    """A stage of ResNet-50: blocks of 1x1, 3x3 and 1x1 filters on images of some size.

    Args:
        width: of the 3x3 filters; the output has four times as many channels.
        inputs: channels of the first block, whose images are twice as large, but in
            the first stage.
    """
    first = inputs == 64
    before, pixels = (size if first else 2 * size), size * size
    name, wide = f"{size}x{size}", 4 * width
    layers = [
        Layer(f"{name} reduce, first", f"matmul:{width}x{inputs}x{before**2}:f32"),
        Layer(f"{name} reduce", f"matmul:{width}x{wide}x{pixels}:f32", blocks - 1),
        Layer(f"{name} 3x3", _conv(width, size, width, 3), blocks - (not first)),
        Layer(
            f"{name} expand",
            f"matmul:{wide}x{width}x{pixels}:f32",
            blocks + first,  # the shortcut of the first stage has its shape
        ),
    ]
    if not first:
        layers += [
            Layer(f"{name} 3x3, stride 2", _conv(width, before, width, 3, 2)),
            Layer(f"{name} shortcut", _conv(inputs, before, wide, 1, 2)),
        ]
    return tuple(layers)


MODELS: dict[str, tuple[Layer, ...]] = {
    "bert": (
        *_transformer(128, 768, 3072, 12, 12),
        Layer("softmax of scores", "softmax:1536x128:f32", 12),
    ),
    "vit": (
        *_transformer(197, 768, 3072, 12, 12),
        Layer("patches", "matmul:196x768x768:f32"),
        Layer("head", "matmul:1x768x1000:f32"),
    ),
    "clip": (*_transformer(50, 768, 3072, 12, 12), *_transformer(77, 512, 2048, 8, 12)),
    "llama-prefill": _llama(128, 128),
    "llama-decode": _llama(1, 128),
    "resnet50": (
        Layer("stem", _conv(3, 224, 64, 7, 2)),
        *_stage(64, 64, 56, 3),
        *_stage(128, 256, 28, 4),
        *_stage(256, 512, 14, 6),
        *_stage(512, 1024, 7, 3),
        Layer("head", "matmul:1x2048x1000:f32"),
    ),
    "whisper": (
        *_transformer(1500, 384, 1536, 6, 4),
        Layer("decode: q, k, v and output", "matmul:1x384x384:f32", 24),
        Layer("decode: up", "matmul:1x384x1536:f32", 4),
        Layer("decode: down", "matmul:1x1536x384:f32", 4),
        Layer("decode: cross attention", "attention:6x1x1500x64x64:f32", 4),
        Layer("decode: norm", "layer_norm:1x384:f32", 13),
    ),
    "mixer": (
        Layer("tokens up", "matmul:384x196x768:f32", 12),
        Layer("tokens down", "matmul:196x384x768:f32", 12),
        Layer("channels up", "matmul:196x768x3072:f32", 12),
        Layer("channels up, bias, gelu", "gelu_matmul:196x768x3072:f32", 12),
        Layer("channels down", "matmul:196x3072x768:f32", 12),
        Layer("norm", "layer_norm:196x768:f32", 25),
    ),
}
"""BERT base (128 tokens), ViT-B/16, CLIP (ViT-B/32 and its text), Llama 1B (a prompt of
128 tokens, and one token after as many), ResNet-50, Whisper tiny (encoder; a token of
the decoder), MLP-Mixer B/16."""


def shapes(models: list[str]) -> dict[str, Layer]:
    """List the shapes to time for some models: each Spec once, products first."""
    layers = [layer for name in models for layer in MODELS[name]]
    layers.sort(key=lambda layer: not layer.is_product)
    by_spec: dict[str, Layer] = {}
    for layer in layers:
        by_spec.setdefault(layer.spec, layer)
    return by_spec

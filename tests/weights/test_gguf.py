"""Files of GGUF against blocks by hand, and against the package `gguf`."""

import struct
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.errors import ArgumentError
from morello.weights import Gguf, ScaledWeights, in_bytes, read_gguf
from tests.tables import rows

NUMBERS = {
    **{"Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8},
    **{"Q2_K": 10, "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14},
    **{"IQ4_NL": 20, "IQ4_XS": 23, "TQ1_0": 34, "TQ2_0": 35},
    **{"MXFP4": 39, "NVFP4": 40},
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def image(
    tensors: dict[str, tuple[tuple[int, ...], int, bytes]],
    pairs: tuple[bytes, ...] = (),
) -> bytes:
    """The bytes of a file: shapes as NumPy has them, numbers of types, data."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs)
    data = b""
    for name, (shape, kind, raw) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    return head + bytes(-len(head) % 32) + data


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    return path


@pytest.mark.quick
def test_a_block_of_q4_0_by_hand(tmp_path: Path) -> None:
    """Byte i has k = i in its low half, k = i + 16 in its high half; 8 is zero."""
    block = np.float16(0.5).tobytes() + bytes(0xF0 | i for i in range(16))
    weights = read_gguf(written(tmp_path, image({"w": ((1, 32), 2, block)})))["w"]
    assert isinstance(weights, ScaledWeights)
    wanted = [(i - 8) * 0.5 for i in range(16)] + [(15 - 8) * 0.5] * 16
    assert weights.values().ravel().tolist() == wanted
    assert (weights.shape, weights.group, weights.bits) == ((32, 1), 32, 4)
    assert weights.stored[:, 0].tolist() == [
        *(2 * i | (2 * i + 1) << 4 for i in range(8)),
        *[0xFF] * 8,
    ]


def test_blocks_of_k_by_hand(tmp_path: Path) -> None:
    """One group of each has something: its scale and least value in 6 bits."""
    groups = bytearray(12)
    groups[1], groups[5] = 3, 5  # group 1: scale 3, least 5
    groups[10] = 0x21  # group 6: low bits of its scale, 1, and of its least value, 2
    groups[2], groups[6] = 0x40, 0x80  # two upper bits: scale 1 + 16, least 2 + 32
    pairs = bytearray(128)
    pairs[0] = 0x70  # group 1, k = 0: 7
    pairs[96 + 31] = 0x09  # group 6, k = 31: 9
    block = np.float16([2, 0.5]).tobytes() + groups + pairs
    values = read_gguf(written(tmp_path, image({"w": ((1, 256), 12, block)})))["w"]
    assert isinstance(values, ScaledWeights)
    wanted = np.zeros(256)
    wanted[32:64] = -0.5 * 5
    wanted[32] += 2 * 3 * 7
    wanted[192:224] = -0.5 * 34
    wanted[223] += 2 * 17 * 9
    assert values.values().ravel().tolist() == wanted.tolist()


@pytest.mark.quick
def test_a_block_of_q1_0_by_hand(tmp_path: Path) -> None:
    """The first bit is the lowest one of the first byte."""
    block = np.float16(0.5).tobytes() + bytes([0b101, *[0] * 14, 0x80])
    weights = read_gguf(written(tmp_path, image({"w": ((1, 128), 41, block)})))["w"]
    assert isinstance(weights, ScaledWeights)
    wanted = np.full(128, -0.5)
    wanted[[0, 2, 127]] = 0.5
    assert weights.values().ravel().tolist() == wanted.tolist()


@pytest.mark.parametrize("name", NUMBERS)
def test_any_bits_are_what_the_package_reads(name: str, tmp_path: Path) -> None:
    """NaN, infinities and denormals of scales are among random bits."""
    gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")
    rng = np.random.default_rng(7)
    kind = getattr(gguf.GGMLQuantizationType, name)
    assert int(kind) == NUMBERS[name]
    per, size = gguf.GGML_QUANT_SIZES[kind]
    rows, blocks = 5, 40
    raw = rng.integers(0, 256, (rows, blocks * size), np.uint8)
    with np.errstate(all="ignore"):
        wanted = gguf.quants.dequantize(raw, kind)
        tensor = {"w": ((rows, blocks * per), NUMBERS[name], raw.tobytes())}
        weights = read_gguf(written(tmp_path, image(tensor)))["w"]
        assert isinstance(weights, ScaledWeights)
        values = weights.values().T
    is_nan = np.isnan(wanted)
    assert np.array_equal(np.isnan(values), is_nan)
    assert values[~is_nan].tobytes() == wanted[~is_nan].tobytes()
    assert not is_nan.all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("activations", ["f32", "s8"])
@pytest.mark.parametrize("name", ["Q4_1", "Q4_K"])
def test_kernels_read_blocks_with_least_values(
    name: str, activations: Literal["f32", "s8"], tmp_path: Path
) -> None:
    """Each scale, least value and multiple is a whole number, and so are x."""
    rng = np.random.default_rng(9)
    count, (per, size) = 40, {"Q4_1": (32, 20), "Q4_K": (256, 144)}[name]
    raw = rng.integers(0, 256, (count, 256 // per, size), np.uint8)
    raw[..., :4] = rng.integers(1, 5, (*raw.shape[:2], 2)).astype("<f2").view(np.uint8)
    tensor = {"w": ((count, 256), NUMBERS[name], raw.tobytes())}
    weights = read_gguf(written(tmp_path, image(tensor)))["w"]
    assert isinstance(weights, ScaledWeights)
    x = rng.integers(-3, 4, (2, 256)).astype(np.float32)
    arguments: tuple[Any, ...] = (x,)
    if activations == "s8":
        x[:, ::32] = 127
        arguments = in_bytes(x, weights.group)
    first = len(arguments)
    names = [f"x{first + i}" for i in range(len(weights.arguments))]
    text = weights.spec(2, activations) + "".join(f":{name}=any" for name in names)
    kernel = morello.compile(text, threads=1, target="avx2", time_limit=30)
    assert (
        "scaled_bytes" if activations == "s8" else "scaled_pairs"
    ) in kernel.schedule
    packed = map(kernel.pack, weights.arguments, names)
    wanted = x.astype(np.float64) @ weights.values().astype(np.float64)
    assert np.array_equal(kernel(*arguments, *packed), wanted)


def test_a_file_that_the_package_writes(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")
    path = tmp_path / "model.gguf"
    rng = np.random.default_rng(8)
    x = rng.standard_normal((3, 6, 64)).astype(np.float32)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_array("words", ["a", "é", ""])
    writer.add_array("scores", [0.5, -1.0])
    writer.add_bool("whether", True)
    plain = {"f32": x, "f16": x.astype(np.float16), "count": np.arange(3, dtype="<i4")}
    for name, array in plain.items():
        writer.add_tensor(name, array)
    quantized = {}
    for name in ("Q4_0", "Q4_1", "Q8_0", "BF16"):
        kind = getattr(gguf.GGMLQuantizationType, name)
        quantized[name] = kind, gguf.quants.quantize(x, kind)
        writer.add_tensor(name, quantized[name][1], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model = read_gguf(path)
    assert list(model) == [*plain, *quantized]
    assert model.metadata["llama.block_count"] == 2
    assert model.metadata["words"] == ["a", "é", ""]
    assert model.metadata["scores"] == [0.5, -1.0]
    assert model.metadata["whether"] is True
    assert model.type_of("Q4_1") == "q4_1"
    for name, array in plain.items():
        tensor = model[name]
        assert isinstance(tensor, np.ndarray)
        assert tensor.dtype == array.dtype
        assert np.array_equal(tensor, array)
    for name, (kind, raw) in quantized.items():
        wanted = gguf.quants.dequantize(raw, kind)
        tensor = model[name]
        if isinstance(tensor, ScaledWeights):
            assert np.array_equal(tensor.values().swapaxes(1, 2), wanted)
        else:
            assert tensor.dtype == ml_dtypes.bfloat16
            assert np.array_equal(tensor.astype(np.float32), wanted)


GOOD = image(
    {"w": ((2, 32), 2, bytes(36))},
    (text("name") + struct.pack("<I", 8) + text("value"),),
)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    end = len(GOOD) - 32
    for size in range(0, end, 3):
        with pytest.raises(ArgumentError, match=r"is no file of GGUF|ends behind"):
            read_gguf(written(tmp_path, GOOD[:size]))["w"]


@pytest.mark.parametrize(("content", "message"), rows(__file__, "gguf_refused"))
def test_what_cannot_be_read_is_said(
    content: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentError) as error:
        every(read_gguf(written(tmp_path, eval(content))))
    assert message in str(error.value)


def every(model: Gguf) -> list[Any]:
    return [model[name] for name in model]

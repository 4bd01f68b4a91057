"""Models that packages ship, against onnxruntime.

`python -m tests.conformance.packages` fetches nothing: of magika, silero-vad,
rapidocr-onnxruntime and openwakeword those are run that are installed, for which
`pip install --no-deps` will do.
"""

import dataclasses
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime

import morello

Shapes = dict[str, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class Shipped:
    """A file of a package, and what its inputs are."""

    package: str
    file: str
    shapes: Shapes = dataclasses.field(default_factory=dict)
    constants: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def path(self) -> Path | None:
        """The file; None where the package, or a version with it, is not installed."""
        module = find_spec(self.package)
        if module is None or not module.submodule_search_locations:
            return None
        path = Path(module.submodule_search_locations[0]) / self.file
        return path if path.exists() else None


_SPEECH: Shapes = {"input": (1, 512), "state": (2, 1, 128)}
_RATE = {"sr": 16000}
_WORDS = "resources/models"
_PAGES = "rapidocr_onnxruntime"

FILES = (
    Shipped("magika", "models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}),
    Shipped(_PAGES, "models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 96, 128)}),
    Shipped(_PAGES, "models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 160)}),
    Shipped(
        _PAGES, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}
    ),
    Shipped("silero_vad", "data/silero_vad.onnx", _SPEECH, _RATE),
    Shipped("silero_vad", "data/silero_vad_16k_op15.onnx", _SPEECH, _RATE),
    Shipped("silero_vad", "data/silero_vad_op18_ifless.onnx", _SPEECH, _RATE),
    Shipped("silero_vad", "data/silero_vad_half.onnx", _SPEECH),
    Shipped("silero_vad", "data/silero_vad_openvino_16k.onnx"),
    Shipped("silero_vad", "data/silero_vad_16k_sequence.onnx", {"input": (2, 576)}),
    Shipped("openwakeword", f"{_WORDS}/melspectrogram.onnx", {"input": (1, 1280)}),
    Shipped(
        "openwakeword", f"{_WORDS}/embedding_model.onnx", {"input_1": (1, 76, 32, 1)}
    ),
    *(
        Shipped("openwakeword", f"{_WORDS}/{word}_v0.1.onnx")
        for word in (
            "alexa",
            "hey_jarvis",
            "hey_marvin",
            "hey_mycroft",
            "hey_rhasspy",
            "timer",
            "weather",
        )
    ),
)


def main() -> int:
    """Run the files that are installed; 1 if a result is wrong."""
    verdicts = [verdict for file in FILES for verdict in _run(file)]
    return int(not all(verdicts))


def _run(file: Shipped) -> Iterator[bool]:
    """Whether the results of a file are right, printed with the seconds it took."""
    if file.path is None:
        print(f"{file.package} {file.file}: not installed")
        return
    session = onnxruntime.InferenceSession(str(file.path))
    shapes = {
        argument.name: file.shapes.get(
            argument.name, tuple(map(_settled, argument.shape))
        )
        for argument in session.get_inputs()
        if argument.name not in file.constants
    }
    start = time.perf_counter()
    try:
        model = morello.from_onnx(file.path, shapes=shapes, constants=file.constants)
    except morello.MorelloError as error:
        print(f"{file.path.name}: refused: {error}")
        return
    read = time.perf_counter()
    kernel = model.compile(threads=1, time_limit=1)
    times = (
        f"read in {read - start:.1f} s, compiled in {time.perf_counter() - read:.1f} s"
    )
    error = max(_error(session, file, shapes, kernel, seed) for seed in range(_CALLS))
    is_right = error <= 1e-4
    verdict = "right" if is_right else "WRONG"
    print(f"{file.path.name}: {verdict}, off by {error:.1e}; {times}", flush=True)
    yield is_right


_CALLS = 4
"""With other inputs each."""


def _error(
    session: onnxruntime.InferenceSession,
    file: Shipped,
    shapes: Shapes,
    kernel: morello.Kernel,
    seed: int,
) -> float:
    """The largest distance of results of one call, relative to the largest result where
    that is more than 1."""
    feeds = _feeds(session, file, shapes, seed)
    expected = session.run(None, feeds)
    outputs = kernel(*(a for n, a in feeds.items() if n not in file.constants))
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    pairs = list(zip(results, expected, strict=True))
    # Sigmoids of onnxruntime are 0 below 1e-8.
    distance = max(float(np.abs(a - b).max()) for a, b in pairs)
    return distance / max(1.0, *(float(np.abs(b).max()) for _, b in pairs))


def _settled(size: int | str | None) -> int:
    """A size that a file leaves open is 1."""
    return size if isinstance(size, int) else 1


def _feeds(
    session: onnxruntime.InferenceSession, file: Shipped, shapes: Shapes, seed: int
) -> dict[str, np.ndarray]:
    """Numbers for the inputs of a file, by name and in order; larger by each seed."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for argument in session.get_inputs():
        if argument.name in file.constants:
            feeds[argument.name] = np.array(file.constants[argument.name], np.int64)
        elif (
            argument.type == "tensor(int32)"
        ):  # bytes, and one for what is beyond a file
            feeds[argument.name] = rng.integers(0, 257, shapes[argument.name]).astype(
                np.int32
            )
        else:
            numbers = 0.3 * (1 + seed) * rng.standard_normal(shapes[argument.name])
            feeds[argument.name] = numbers.astype(np.float32)
    return feeds


if __name__ == "__main__":
    sys.exit(main())

"""Models of PyTorch in ONNX, on one thread of onnxruntime and of OpenVINO."""

import contextlib
import importlib
import io
import logging
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Run = Callable[[], list[Any]]


def export(torch: Any, model: Any, inputs: Sequence[Any], path: Path) -> None:
    """Write a model to a file, its weights in it or in one beside it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable()
        torch.onnx.export(model, tuple(inputs), str(path), dynamo=True, verbose=False)
        logging.disable(logging.NOTSET)


def onnxruntime(path: Path, inputs: Sequence[Any], bf16: bool = False) -> Run:
    """A call of onnxruntime, which gives the outputs.

    Raises:
        ImportError: it is not installed.
        RuntimeError: it is to compute in bf16.
    """
    if bf16:
        raise RuntimeError("it has no products in bf16 on CPUs of x86")
    package: Any = importlib.import_module("onnxruntime")
    options = package.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = package.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    feeds = {
        argument.name: tensor.numpy()
        for argument, tensor in zip(session.get_inputs(), inputs, strict=True)
    }
    return lambda: session.run(None, feeds)


def openvino(path: Path, inputs: Sequence[Any], bf16: bool = False) -> Run:
    """A call of OpenVINO in f32 or bf16, which gives the outputs.

    Raises:
        ImportError: it is not installed.
    """
    package: Any = importlib.import_module("openvino")
    hints = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if bf16 else "f32",
        "ENABLE_CPU_PINNING": False,
    }
    compiled = package.Core().compile_model(str(path), "CPU", hints)
    request = compiled.create_infer_request()
    feeds = {place: tensor.numpy() for place, tensor in enumerate(inputs)}

    def run() -> list[Any]:
        request.infer(feeds, share_inputs=True)
        return [
            request.get_output_tensor(place).data
            for place in range(len(compiled.outputs))
        ]

    return run


RUNTIMES: dict[str, Callable[[Path, Sequence[Any], bool], Run]] = {
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}

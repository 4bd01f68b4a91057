"""Products of stored weights by onnxruntime, PyTorch, OpenVINO and ggml."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.weights.case import Array, Call, Case


def _rows_of_bytes(case: Case) -> Array:
    """Integers of 4 bits, n x k/group x group/2: neighbours along k share a byte."""
    q = case.scaled.integers.reshape(-1, case.group, case.n).transpose(2, 0, 1)
    packed: Array = q[..., 0::2] | q[..., 1::2] << 4
    return np.ascontiguousarray(packed)


def onnxruntime(case: Case, level: int) -> tuple[Call, Array]:
    """MatMulNBits; of level 4 activations are rounded to bytes.

    Raises:
        ImportError: it is not installed.
        ValueError: weights of f16, of which it has no product with f32.
    """
    if case.form == "f16":
        raise ValueError("it has no product of f32 and f16")
    package: Any = importlib.import_module("onnxruntime")
    onnx: Any = importlib.import_module("onnx")
    helper, k, n = onnx.helper, case.k, case.n
    is_int4 = case.form.startswith("int4")
    group = case.group if is_int4 else 128
    if is_int4:
        stored = _rows_of_bytes(case)
    else:
        signed = case.scaled.stored.T.astype(np.int16) + 128
        stored = signed.astype(np.uint8).reshape(n, k // group, group)
    scales = case.scaled.scales.astype(np.float32).T
    scales = np.repeat(scales, k // group // scales.shape[1], axis=1)
    node = helper.make_node(
        "MatMulNBits",
        ["x", "q", "s"],
        ["y"],
        domain="com.microsoft",
        K=k,
        N=n,
        bits=4 if is_int4 else 8,
        block_size=group,
        accuracy_level=level,
    )
    constants = [
        onnx.numpy_helper.from_array(stored, "q"),
        onnx.numpy_helper.from_array(np.ascontiguousarray(scales).reshape(-1), "s"),
    ]
    shapes = ("x", [case.rows, k]), ("y", [case.rows, n])
    x, y = (helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes)
    graph = helper.make_graph([node], "g", [x], [y], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    text = model.SerializeToString()
    options = package.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    out = np.empty((case.rows, n), np.float32)
    sessions = []
    for _ in range(case.copies):
        session = package.InferenceSession(text, options, ["CPUExecutionProvider"])
        io = session.io_binding()
        io.bind_cpu_input("x", case.x)
        io.bind_output("y", "cpu", 0, np.float32, list(out.shape), out.ctypes.data)
        sessions.append((session, io))

    def call(copy: int) -> None:
        session, io = sessions[copy]
        session.run_with_iobinding(io)

    return call, out


def torch(case: Case) -> tuple[Call, Array]:
    """Products of bf16 with weights of 4 and 8 bits; a linear layer of f16.

    Raises:
        ImportError: it is not installed.
    """
    package: Any = importlib.import_module("torch")
    package.set_num_threads(1)
    x = package.from_numpy(case.x).to(package.bfloat16)
    out = np.empty((case.rows, case.n), np.float32)
    product: Callable[[Any], Any]
    parts: tuple[Any, ...]
    if case.form == "f16":
        half = x.to(package.float16)
        parts = (package.from_numpy(np.ascontiguousarray(case.weights.T)),)  # type: ignore[union-attr]
        product = lambda w: package.nn.functional.linear(half, w)  # noqa: E731
    else:
        scales = package.from_numpy(case.scaled.scales.astype(np.float32))
        scales = scales.to(package.bfloat16)
        integers = case.scaled.integers.T
        if case.form == "int8":
            parts = package.from_numpy(np.ascontiguousarray(integers)), scales[0]
            product = lambda q, s: package._weight_int8pack_mm(x, q, s)  # noqa: E731
        else:
            q = package.from_numpy(integers.astype(np.int32))
            packed = package._convert_weight_to_int4pack_for_cpu(q, 1)
            both = package.stack([scales, package.zeros_like(scales)], -1)
            parts = packed, both.contiguous()
            product = lambda q, s: package._weight_int4pack_mm_for_cpu(  # noqa: E731
                x, q, case.group, s
            )
    copies = [tuple(part.clone() for part in parts) for _ in range(case.copies)]

    def call(copy: int) -> None:
        result = product(*copies[copy])
        if copy == 0:
            out[...] = result.float().numpy()

    return call, out


def openvino(case: Case) -> tuple[Call, Array]:
    """A MatMul of constants that are converted and scaled, as it compresses weights.

    Raises:
        ImportError: it is not installed.
    """
    package: Any = importlib.import_module("openvino")
    ops: Any = importlib.import_module("openvino.opset13")
    kind = package.Type
    x = ops.parameter([case.rows, case.k], np.float32)
    if case.form == "f16":
        weights = ops.constant(np.ascontiguousarray(case.weights.T))  # type: ignore[union-attr]
    elif case.form == "int8":
        stored = ops.constant(np.ascontiguousarray(case.scaled.stored.T))
        scales = ops.constant(np.ascontiguousarray(case.scaled.scales.T))
        weights = ops.multiply(ops.convert(stored, "f16"), scales)
    else:
        shape = [case.n, case.k // case.group, case.group]
        tensor = package.Tensor(_rows_of_bytes(case), shape, kind.u4)
        zero = package.Tensor(np.array([8], np.uint8), [1], kind.u4)
        less = ops.convert(ops.constant(zero), "f16")
        wide = ops.subtract(ops.convert(ops.constant(tensor), "f16"), less)
        scales = np.ascontiguousarray(case.scaled.scales.T)[..., None]
        wide = ops.multiply(wide, ops.constant(scales))
        weights = ops.reshape(wide, ops.constant(np.array([case.n, case.k])), False)
    y = ops.matmul(x, ops.convert(weights, "f32"), False, True)
    model = package.Model([y], [x])
    hints = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
    }
    out = np.empty((case.rows, case.n), np.float32)
    core, requests = package.Core(), []
    for _ in range(case.copies):
        request = core.compile_model(model, "CPU", hints).create_infer_request()
        request.set_input_tensor(package.Tensor(case.x, shared_memory=True))
        request.set_output_tensor(package.Tensor(out, shared_memory=True))
        requests.append(request)
    return lambda copy: requests[copy].infer(), out


PEERS: dict[str, Callable[[Case], tuple[Call, Array]]] = {
    "onnxruntime": lambda case: onnxruntime(case, 0),
    "onnxruntime-bytes": lambda case: onnxruntime(case, 4),
    "torch": torch,
    "openvino": openvino,
}
"""Contenders by name."""

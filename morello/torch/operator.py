"""A kernel as an operator of PyTorch: `operator`."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError, CompileError
from morello.runtime.calls.parameter import Parameter


def operator(kernel: Kernel) -> Callable[..., Any]:
    """An operator that runs a kernel on the CPU, registered as ``morello::…``.

    It takes the inputs in the order of ``kernel.parameters``, in their physical shapes,
    and returns a new tensor, or a tuple of several outputs. It has a rule for tensors
    without memory, so that it is traced and exported, and no gradient.

    Args:
        kernel: whose operands have no gaps, and which adds to no output. It is kept
            until the process ends. The same kernel gives the same operator.

    Raises:
        ArgumentError: it is no kernel.
        CompileError: its operands have gaps, it adds to an output, or PyTorch has no
            such elements.
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentError(
            f"'kernel' is {type(kernel).__name__}, not a kernel",
            "give what morello.compile returns",
        )
    held = len(kernel.constants)
    read = [p for p in kernel.parameters if not p.is_output]
    inputs = read[: len(read) - held]
    outputs = [p for p in kernel.parameters if p.is_output]
    _check_forms(kernel, (*inputs, *outputs))
    taken = [_dtype(p) for p in inputs]
    made = [_dtype(p) for p in outputs]

    def new(*tensors: Any) -> Any:
        # Without the batch of 1 where all inputs that may lack it do.
        is_short = any(p.alternatives for p in inputs)
        for parameter, dtype, tensor in zip(inputs, taken, tensors, strict=True):
            shape = tuple(tensor.shape)
            if shape not in parameter.shapes or tensor.dtype is not dtype:
                raise ArgumentError(
                    f"{parameter.role} is {tensor.dtype}{list(shape)}, and "
                    f"{kernel.symbol} takes {dtype}{list(parameter.shapes[-1])}",
                    "bring it into this shape and dtype before",
                )
            if parameter.alternatives and shape == parameter.shape:
                is_short = False
        tensors_out = [
            torch.empty(p.shapes[-1] if is_short else p.shape, dtype=dtype)
            for p, dtype in zip(outputs, made, strict=True)
        ]
        return tensors_out[0] if len(tensors_out) == 1 else tuple(tensors_out)

    def run(*tensors: Any) -> Any:
        outputs = new(*tensors)
        kernel(*(tensor.detach().contiguous() for tensor in tensors), out=outputs)
        return outputs

    code = hashlib.sha256(kernel.object + str(kernel.threads).encode()).hexdigest()
    name = f"{kernel.symbol}_{code[:16]}"
    registered = getattr(torch.ops.morello, name, None)
    if registered is not None:
        return registered.default  # type: ignore[no-any-return]
    arguments = ", ".join(f"Tensor {p.name}" for p in inputs)
    result = "Tensor" if len(made) == 1 else f"({', '.join(['Tensor'] * len(made))})"
    declared = torch.library.custom_op(
        f"morello::{name}",
        run,
        mutates_args=(),
        device_types="cpu",
        schema=f"({arguments}) -> {result}",
    )
    declared.register_fake(new)
    return getattr(torch.ops.morello, name).default  # type: ignore[no-any-return]


def _check_forms(kernel: Kernel, parameters: Sequence[Parameter]) -> None:
    """Refuse operands with gaps, outputs that are added to, and sizes of a call."""
    for parameter in parameters:
        if parameter.size is not None:
            raise CompileError(
                f"{parameter.role} of {kernel.symbol} has a size that each call says, "
                "and operators have settled shapes",
                "compile a Spec of one size",
            )
        if parameter.strides or parameter.accumulates:
            raise CompileError(
                f"{parameter.role} of {kernel.symbol} has gaps, or holds what is added "
                "to",
                "compile a Spec without a leading dimension (ld), or not _accum",
            )


def _dtype(parameter: Parameter) -> torch.dtype:
    """The dtype that PyTorch has for a parameter's elements.

    Raises:
        CompileError: it has none such.
    """
    dtype = getattr(torch, parameter.dtype.name, None)
    if not isinstance(dtype, torch.dtype):
        raise CompileError(
            f"{parameter.role} has elements of {parameter.dtype.name}, which PyTorch "
            "does not have"
        )
    return dtype

"""`call`: a kernel as a function of JAX arrays."""

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax

from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError, CompileError
from morello.jax.handler import handler, wanted
from morello.runtime.calls.call_size import call_sizes
from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.parameter import Parameter


@dataclasses.dataclass(frozen=True)
class _Registered:
    """Objects that XLA's registry points to; kept until the process ends."""

    kernel: Kernel
    handler: Any


_registered: dict[str, _Registered] = {}
_lock = threading.Lock()


def target_name(kernel: Kernel) -> str:
    """The name under which `call` registers a kernel with XLA.

    It is the same in every process for the same kernel (`Kernel.digest`). Programs that
    were exported (``jax.export``) have it in their text.
    """
    return f"morello.{kernel.symbol}.{kernel.digest()[:16]}"


def call(
    kernel: Kernel, *, vmap_method: str | None = "sequential"
) -> Callable[..., Any]:
    """A function of JAX arrays that runs a kernel on the CPU.

    It takes the inputs in the order of ``kernel.parameters``, in their physical
    shapes, row-major as all arrays of JAX; then, for each output that the kernel adds
    to, what that output holds. It returns a new array, or a tuple of several outputs.
    It may stand in functions under ``jax.jit`` and ``jax.vmap``; a gradient is given by
    ``jax.custom_vjp``.

    Args:
        kernel: any compiled kernel whose operands have no gaps between rows, or a
            compiled model. It is kept until the process ends, since XLA may call it
            until then. Where each call says a size, so do the shapes for which a
            program is traced, and those of a program that `jax.export` wrote with
            symbols in them, when it is called.
        vmap_method: what ``jax.vmap`` does, as ``jax.ffi.ffi_call`` takes it.

    Raises:
        CompileError: the kernel has an operand with a leading dimension, or elements
            that XLA does not have.
        ArgumentError: of the function, while it is traced: an argument does not fit.
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentError(
            f"'kernel' is {type(kernel).__name__}, not a kernel",
            "give what morello.compile returns",
        )
    for parameter in kernel.parameters:
        if parameter.strides:
            raise CompileError(
                f"{parameter.role} of {kernel.text} has gaps between its rows, "
                "which arrays of JAX do not have",
                "compile a Spec without a leading dimension (ld)",
            )
    name = _register(kernel)
    inputs = [p for p in kernel.parameters if not p.is_output]
    outputs = [p for p in kernel.parameters if p.is_output]
    held = [p for p in outputs if p.accumulates]
    constants = [*kernel.constants.values()]
    arguments = inputs[: len(inputs) - len(constants)]
    label = kernel.text
    aliases = {
        len(inputs) + number: outputs.index(parameter)
        for number, parameter in enumerate(held)
    }

    def run(*arrays: Any) -> Any:
        shapes = _result_shapes(label, (*arguments, *held), outputs, arrays)
        results = [
            jax.ShapeDtypeStruct(shape, output.dtype)
            for shape, output in zip(shapes, outputs, strict=True)
        ]
        computed = jax.ffi.ffi_call(
            name, results, vmap_method=vmap_method, input_output_aliases=aliases
        )(*arrays[: len(arguments)], *constants, *arrays[len(arguments) :])
        return computed[0] if len(computed) == 1 else tuple(computed)

    run.__name__ = run.__qualname__ = kernel.symbol
    run.__doc__ = f"Run {label}, compiled by Morello."
    # Outside of a program of its own each call would be traced and looked up anew.
    compiled: Callable[..., Any] = jax.jit(run)
    return compiled


def _register(kernel: Kernel) -> str:
    """Make the kernel known to XLA, once; its name there."""
    name = target_name(kernel)
    with _lock:
        if name not in _registered:
            table = CallTable(
                kernel.address,
                kernel.parameters,
                kernel.workspace_bytes,
                kernel.threads,
            )
            function = handler(table, kernel.text)
            jax.ffi.register_ffi_target(
                name, jax.ffi.pycapsule(function), platform="cpu"
            )
            _registered[name] = _Registered(kernel, function)
    return name


def _result_shapes(
    label: str,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    arrays: Sequence[Any],
) -> list[tuple[int, ...]]:
    """The shapes of the results: without the batch where all inputs came so.

    Raises:
        ArgumentError: names the argument that does not fit.
    """
    if len(arrays) != len(inputs):
        names = ", ".join(parameter.name for parameter in inputs)
        raise ArgumentError(
            f"{label} takes {len(inputs)} arrays, {len(arrays)} were given",
            f"call it with ({names})",
        )
    sizes = _sizes(inputs, outputs, arrays)
    for parameter, array in zip(inputs, arrays, strict=True):
        shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
        shapes = [parameter.resized(s, sizes) for s in parameter.shapes]
        if shape not in shapes or dtype != parameter.dtype:
            what = f"{dtype}{list(shape)}" if shape is not None else type(array)
            raise ArgumentError(
                f"{wanted(parameter, label)}, but {what} was given",
                _remedy(parameter, dtype, shape, shape in shapes),
            )
    short = [
        len(array.shape) < len(parameter.shape)
        for parameter, array in zip(inputs, arrays, strict=True)
    ]
    may_be_short = [bool(p.alternatives) for p in inputs]
    is_short = any(may_be_short) and short == may_be_short
    return [
        p.resized(p.alternatives[0] if is_short and p.alternatives else p.shape, sizes)
        for p in outputs
    ]


def _sizes(
    inputs: Sequence[Parameter], outputs: Sequence[Parameter], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    """The sizes that a call says, of which some may be symbols of `jax.export`.

    Raises:
        ArgumentError: one is not one that the kernel takes.
    """
    sizes = call_sizes((*inputs, *outputs))
    if sizes is None:
        return ()
    said: dict[int, Any] = {}
    for parameter, array in zip(inputs, arrays, strict=True):
        shape = getattr(array, "shape", ())
        for place, number in parameter.places_in(shape).items():
            if number not in said:
                said[number] = shape[place]
                if not jax.export.is_symbolic_dim(shape[place]):
                    sizes.check(parameter, number, shape[place])
    return tuple(said.get(axis.number, axis.sizes[-1]) for axis in sizes.axes)


def _remedy(parameter: Parameter, dtype: Any, shape: Any, fits: bool) -> str:
    if dtype != parameter.dtype and fits:
        return f"write x.astype('{parameter.dtype.name}')"
    if any(shape == view for view, _ in parameter.views):
        return "the operand lies transposed: write x.T, or x.mT"
    return "give an array of this shape; kernel.pack brings weights into it"

"""A kernel as an operator of PyTorch: `operator`; a module as a kernel: `export`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Node

from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError, CompileError, MorelloError
from morello.frontends.linalg.known_arrays import MOST
from morello.frontends.refusals import ModelError
from morello.runtime.calls.parameter import Parameter
from morello.torch.constants import folded
from morello.torch.group import compiled_model, read_model
from morello.torch.larger_ops.complex_pairs import as_pairs
from morello.torch.lowering import lowered, told
from morello.torch.native_call import array_of
from morello.torch.options import Options


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
    dtypes = [_dtype(p) for p in outputs]

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
            for p, dtype in zip(outputs, dtypes, strict=True)
        ]
        return tensors_out[0] if len(tensors_out) == 1 else tuple(tensors_out)

    def run(*tensors: Any) -> Any:
        outputs = new(*tensors)
        kernel(*(tensor.detach().contiguous() for tensor in tensors), out=outputs)
        return outputs

    name = f"{kernel.symbol}_{kernel.digest()[:16]}"
    registered = getattr(torch.ops.morello, name, None)
    if registered is not None:
        return registered.default  # type: ignore[no-any-return]
    arguments = ", ".join(f"Tensor {p.name}" for p in inputs)
    tensors = ", ".join(["Tensor"] * len(dtypes))
    result = tensors if len(dtypes) == 1 else f"({tensors})"
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
        if parameter.sizes:
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


def export(module: Any, example: Sequence[Any], **options: Any) -> Kernel:
    """A module in inference as a kernel whose constants are the module's weights.

    A call takes arrays or tensors like those of the example, and returns an array of
    NumPy, or a tuple of all tensors of the result. Pickled, the kernel has machine code
    and weights: a process that has neither PyTorch nor the module loads it without
    tracing. `Kernel.save` writes it for C, where the weights are arguments.

    Args:
        module: whose weights are read where they lie: they have to stay as they are.
        example: the arguments of a call.
        options: those of the backend that concern the program (`Options`).

    Raises:
        ArgumentError: an option that does not exist, an argument that is no tensor of
            one shape, or a module that changes its buffers.
        MorelloError: names the ops that are no part of a kernel.
        SearchError, CompileError: there is no program.
    """
    chosen = Options.read({"freeze": True, **options})
    with torch.no_grad():
        program = torch.export.export(module, tuple(example))
        program = program.run_decompositions(_of_recurrent_layers())
    _check(program, example)
    graph = program.graph_module
    weights = _weights(program)
    as_pairs(graph)
    folded(graph)
    taken = graph.graph.find_nodes(op="placeholder")
    simple = lowered(graph, [node.meta["val"] for node in taken])
    places = {place: n for place, n in enumerate(taken) if n.name in weights}
    constants = {place: array_of(weights[n.name]) for place, n in places.items()}
    try:
        model = read_model(simple, (), chosen, constants)
    except ModelError as error:
        raise MorelloError(told(simple, error)) from error
    return compiled_model(model, simple, chosen)


def _of_recurrent_layers() -> dict[Any, Any]:
    """PyTorch's rules for recurrent layers, which an exported model has whole: they
    change tensors in place, which a program that is exported may not."""
    aten = torch.ops.aten
    layers = (aten.gru, aten.lstm, aten.rnn_relu, aten.rnn_tanh)
    rules: dict[Any, Any] = get_decompositions([layer.input for layer in layers])
    return rules


def _check(program: Any, example: Sequence[Any]) -> None:
    """Refuse what a kernel of fixed shapes that changes nothing cannot be.

    Raises:
        ArgumentError: says which argument or buffer.
    """
    if not all(isinstance(argument, torch.Tensor) for argument in example):
        kinds = ", ".join(type(argument).__name__ for argument in example)
        raise ArgumentError(
            f"the example has arguments of the types {kinds}",
            "give tensors, and set all else in the module",
        )
    for output in program.graph_signature.output_specs:
        if output.kind is not OutputKind.USER_OUTPUT:
            raise ArgumentError(
                f"a call of the module changes '{output.target}'",
                "call module.eval(), or return the new value as a result",
            )


_PACKED_PRODUCT: Any = torch.ops.aten._weight_int4pack_mm_for_cpu.default


def _weights(program: Any) -> Mapping[str, Any]:
    """The parameters and large buffers of a program, by the names of its arguments, and
    buffers of packed products. Small buffers, and complex ones, become constants of the
    graph, of which more may be computed."""
    calls = program.graph.find_nodes(op="call_function", target=_PACKED_PRODUCT)
    packed = {weight.name for node in calls for weight in node.all_input_nodes[1:]}
    held = {**program.constants, **program.state_dict}
    large = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            continue
        value = held[spec.target].detach().contiguous()
        is_large = spec.kind is InputKind.PARAMETER or value.numel() > MOST
        is_large |= spec.arg.name in packed
        if is_large and not value.is_complex():
            large[spec.arg.name] = value
        else:
            _settle(program.graph_module, spec.arg.name, value)
    return large


def _settle(graph: GraphModule, argument: str, value: Any) -> None:
    """Make a constant of an argument."""
    (node,) = (n for n in graph.graph.nodes if n.name == argument)
    assert isinstance(node, Node)
    name = f"buffer_{argument}"
    graph.register_buffer(name, value, persistent=False)
    with graph.graph.inserting_before(node):
        constant = graph.graph.get_attr(name)
    node.replace_all_uses_with(constant, propagate_meta=True)
    graph.graph.erase_node(node)

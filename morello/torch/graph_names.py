"""A name for what a group's program depends on, for other processes: `graph_name`."""

import hashlib
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx import GraphModule, Node

from morello.torch.options import Options

_ATOMS = (
    *(bool, int, float, complex, str, type(None)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)
"""Types of arguments whose values print as they are."""


class _UnnamedError(Exception):
    """Something that has no text of its own."""


def graph_name(
    graph: GraphModule, inputs: Sequence[Any], weights: Sequence[int], options: Options
) -> str | None:
    """A hash of a graph with its constants, the forms of its arguments, and the options
    that its program depends on; None where something of these has no text.

    Targets, threads and databases are left out: kept kernels are compared with them.

    Args:
        graph: of a group.
        inputs: tensors of the shapes of its arguments.
        weights: which of these are parameters and buffers.
        options: of the user.
    """
    digest = hashlib.sha256()
    state = (
        torch.__version__,
        metadata.version("torch-mlir"),
        torch.get_default_dtype(),
        torch.is_autocast_enabled("cpu"),
        [(tuple(t.shape), t.stride(), t.dtype) for t in inputs],
        tuple(weights),
        options.packs,
        options.partition,
        options.flushes,
        options.winograd,
    )
    digest.update(repr(state).encode())
    numbers = {node: number for number, node in enumerate(graph.graph.nodes)}
    try:
        for node in numbers:
            digest.update(_line(node, numbers).encode())
            if node.op == "get_attr":
                digest.update(_bytes(getattr(graph, str(node.target))))
    except _UnnamedError:
        return None
    return digest.hexdigest()


def name_of_sizes(
    graphs: Sequence[GraphModule],
    inputs: Sequence[Sequence[Any]],
    weights: Sequence[int],
    options: Options,
    sizes: range,
) -> str | None:
    """A hash of a graph one size of which each call says, of its names at some of them;
    None where it has none.

    Args:
        graphs: at each of these sizes.
        inputs: of each.
        weights, options: as `graph_name` takes them.
        sizes: those that a call may say.
    """
    names = [
        graph_name(graph, graph_inputs, weights, options)
        for graph, graph_inputs in zip(graphs, inputs, strict=True)
    ]
    if None in names:
        return None
    return hashlib.sha256(repr((sizes, names)).encode()).hexdigest()


def _line(node: Node, numbers: dict[Node, int]) -> str:
    """The text of a node, whose arguments are numbers of others.

    Raises:
        _UnnamedError: an argument has no text.
    """
    if node.op == "call_function":
        target: Any = node.target
        what = f"{getattr(target, '__module__', '')} {target}"
    elif node.op in ("placeholder", "output", "get_attr"):
        what = ""
    else:
        raise _UnnamedError
    args = _text(node.args if node.op != "placeholder" else (), numbers)
    return f"{node.op} {what} {args} {_text(dict(node.kwargs), numbers)}\n"


def _text(value: Any, numbers: dict[Node, int]) -> str:
    """The text of an argument.

    Raises:
        _UnnamedError: it has none.
    """
    if isinstance(value, Node):
        return f"%{numbers[value]}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(item, numbers) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}: {_text(v, numbers)}' for k, v in value.items())}}}"
    if isinstance(value, slice):
        ends = [value.start, value.stop, value.step]
        return f"slice{_text(ends, numbers)}"
    if type(value) in _ATOMS:
        return repr(value)
    raise _UnnamedError


def _bytes(constant: Any) -> bytes:
    """A hash of a constant's elements and form.

    Raises:
        _UnnamedError: it is no tensor that lies in memory.
    """
    if (
        not isinstance(constant, torch.Tensor)
        or isinstance(constant, FakeTensor)
        or constant.layout is not torch.strided
    ):
        raise _UnnamedError
    with unset_fake_temporarily(), torch.no_grad():
        whole = constant.detach().contiguous().reshape(-1).view(torch.uint8)
        form = repr((constant.dtype, tuple(constant.shape), constant.stride()))
        return hashlib.sha256(form.encode() + whole.numpy().tobytes()).digest()

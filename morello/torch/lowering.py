"""A group as linalg on tensors: in the ops that `rules` leave, by torch-mlir."""

import copy
import functools
import importlib
import io
import math
import re
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch._guards import tracing
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx import GraphModule, Node, map_arg
from torch.fx.experimental.proxy_tensor import make_fx

from morello.frontends.dry_run import bytes_from_child
from morello.frontends.linalg.importer_output import check_linalg
from morello.frontends.refusals import ModelError, Refusal
from morello.mlir import BACKEND, PassManager, ir
from morello.torch.constants import fused
from morello.torch.larger_ops.quotients import divide_integers
from morello.torch.larger_ops.scans import standing, with_extremes
from morello.torch.ops import (
    AS_THEY_ARE,
    COMPUTED,
    EXACT,
    FLOATED,
    FLOATS,
    INTEGERS,
    MOVES,
    NARROW,
    NUMBERS,
    VIEWS,
)
from morello.torch.partition import allow_any_strides, is_take
from morello.torch.rules import rules

NODE = "node"
"""The file of which each node of a lowered graph is a line."""

_PLACE = re.compile(rf"\b{NODE}:(\d+)(?::\d+)?")

TRACING = threading.Lock()
"""Tracing sets states of the process."""


def _without_places(graph: GraphModule) -> None:
    """Make views reshapes, and copies casts, in place: memory is the CPU's."""
    allow_any_strides(graph)
    copied = torch.ops.aten._to_copy.default
    for node in graph.graph.find_nodes(op="call_function", target=copied):
        node.kwargs = {"dtype": node.meta["val"].dtype}
    graph.recompile()


def _cast(node: Node, dtype: torch.dtype) -> Node:
    """A cast of a node, where its graph inserts."""
    copied = torch.ops.aten._to_copy.default
    cast = node.graph.call_function(copied, (node,), {"dtype": dtype})
    cast.meta["val"] = node.meta["val"].to(dtype)
    return cast


def _compute_in(node: Node, wide: torch.dtype) -> None:
    """Give a node a wide dtype, and those who read it a cast to the dtype it had."""
    dtype = node.meta["val"].dtype
    node.meta["val"] = node.meta["val"].to(wide)
    with node.graph.inserting_after(node):
        narrow = _cast(node, dtype)
    node.replace_all_uses_with(narrow)
    narrow.replace_input_with(narrow, node)


def _wide_bytes(graph: GraphModule) -> None:
    """Cast unsigned bytes to the dtype of a result, in place: torch-mlir widens them as
    if they had signs."""
    for node in list(graph.graph.nodes):
        if node.target not in MOVES | EXACT:
            continue
        dtype = getattr(node.meta["val"], "dtype", torch.uint8)
        if dtype is torch.uint8:
            continue
        wide = torch.int32 if dtype is torch.bool else dtype
        with graph.graph.inserting_before(node):
            for source in node.all_input_nodes:
                if getattr(source.meta.get("val"), "dtype", None) is torch.uint8:
                    node.replace_input_with(source, _cast(source, wide))
    graph.recompile()


def _floats_of_integers(graph: GraphModule) -> None:
    """Cast integers to the floats that a result has, in place, as eager does."""
    for node in list(graph.graph.nodes):
        dtype = _dtype(node)
        if node.target not in FLOATED or dtype not in FLOATS:
            continue
        with graph.graph.inserting_before(node):
            for source in node.all_input_nodes:
                if _dtype(source) in INTEGERS:
                    node.replace_input_with(source, _cast(source, dtype))
    graph.recompile()


def _in_f32(graph: GraphModule) -> None:
    """Make ops on narrow floats compute in f32, in place, as eager does, and round
    results."""
    for node in list(graph.graph.nodes):
        if node.target not in COMPUTED - AS_THEY_ARE:
            continue
        read = [n for n in node.all_input_nodes if _is_narrow(n)]
        with graph.graph.inserting_before(node):
            for source in read:
                node.replace_input_with(source, _cast(source, torch.float32))
        is_several = isinstance(node.meta["val"], (tuple, list))
        computed = list(node.users) if is_several else [node]
        for result in computed if read else []:
            if not _is_narrow(result):
                continue
            _compute_in(result, torch.float32)
    graph.recompile()


def _numbers_beside(graph: GraphModule) -> None:
    """Round numbers to the dtype of the floats beside them, in place, as eager does:
    the importer compares f32 with numbers of f64."""
    for node in list(graph.graph.nodes):
        tensors = [x for x in node.args[:2] if _dtype(x) in FLOATS]
        if _name(node) not in _ROUNDS or not tensors:
            continue
        beside = max((x.meta["val"] for x in tensors), key=lambda x: x.dim() > 0)
        with graph.graph.inserting_before(node):
            pair = (_in_dtype(x, beside) for x in node.args[:2])
            node.args = (*pair, *node.args[2:])
    graph.recompile()


_ROUNDS = frozenset(
    {
        *("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "rsub", "remainder"),
        *("fmod", "pow", "hardshrink"),
    }
)
"""Ops of which eager rounds a number to the dtype of the tensor beside it; others take
it of narrow floats as f32."""


def _in_dtype(operand: Any, beside: Any) -> Any:
    """A number as eager has it beside a tensor, where it is one, or has no axes."""
    if isinstance(operand, Node):
        is_other = _dtype(operand) in FLOATS and _dtype(operand) is not beside.dtype
        is_number = is_other and operand.meta["val"].dim() == 0 < beside.dim()
        return _cast(operand, beside.dtype) if is_number else operand
    if not isinstance(operand, float):
        return operand
    rounded = float(torch.tensor(operand, dtype=beside.dtype))
    return operand if math.isinf(rounded) else rounded


_PROMOTES = frozenset(
    {
        *("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod"),
        *("maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "where", "cat"),
        *("bitwise_and", "bitwise_or", "bitwise_xor"),
    }
)
"""Ops whose operands eager brings to one dtype."""

_BYTES = (torch.uint8, torch.int8)


def _mixed_bytes(graph: GraphModule) -> None:
    """Compute in 32 bits, in place, what mixes bytes with numbers or truth values, for
    which torch-mlir crashes: low bits depend on low bits alone."""
    for node in list(graph.graph.nodes):
        name = _name(node)
        if name not in _PROMOTES:
            continue
        first = 1 if name == "where" else 0  # what it chooses by stays a truth value
        operands = node.args[first] if name == "cat" else node.args[first:]
        dtypes = {_dtype(x) for x in operands}
        if not dtypes & {*_BYTES} or not dtypes & {torch.bool, None}:
            continue
        narrow = (*_BYTES, torch.bool)
        with graph.graph.inserting_before(node):
            wide = [
                _cast(x, torch.int32) if _dtype(x) in narrow else x for x in operands
            ]
        wide = [int(x) if isinstance(x, bool) else x for x in wide]
        rest = (wide, *node.args[1:]) if name == "cat" else wide
        node.args = (*node.args[:first], *rest)
        if _dtype(node) in _BYTES:
            _compute_in(node, torch.int32)
    graph.recompile()


def _name(node: Node) -> str:
    """The name of an op without that of its overload."""
    return getattr(getattr(node.target, "overloadpacket", None), "__name__", "")


def _dtype(operand: Any) -> torch.dtype | None:
    """The dtype of an operand that is a tensor."""
    meta = operand.meta if isinstance(operand, Node) else {}
    return getattr(meta.get("val"), "dtype", None)


def _is_narrow(node: Node) -> bool:
    return _dtype(node) in NARROW


def lowered(graph: GraphModule, inputs: Sequence[Any]) -> GraphModule:
    """The graph in the ops that the importer knows.

    Args:
        graph: of a group; it is left as it is.
        inputs: tensors of the shapes of its arguments, without memory.
    """
    whole = GraphModule(graph, copy.deepcopy(graph.graph))  # of the same constants
    _without_places(whole)
    _wide_bytes(whole)
    _mixed_bytes(whole)
    _floats_of_integers(whole)
    _numbers_beside(whole)
    _in_f32(whole)
    # The mode of the trace around this one takes no constants.
    with TRACING, torch.no_grad(), unset_fake_temporarily(), tracing(None):
        with FakeTensorMode(allow_non_fake_inputs=True):
            plain = [torch.empty(t.shape, dtype=t.dtype) for t in inputs]
        trace = make_fx(whole, decomposition_table=rules(), tracing_mode="fake")
        module: GraphModule = trace(*plain)
        _fold(module)
    module.graph.eliminate_dead_code()
    for place, node in enumerate(module.graph.nodes):
        # What the importer takes for the place of a node.
        node.meta["stack_trace"] = f'File "{NODE}", line {place}, in group'
    return module


def _fold(graph: GraphModule) -> None:
    """Compute what is one number at all places of a tensor.

    torch-mlir's own folding takes true for -1, an integer beside floats for its bits,
    rounds quotients of integers wrongly, or ends the process.
    """
    numbers: dict[Node, torch.Tensor] = {}
    for node in graph.graph.nodes:
        result = node.meta.get("val")
        if not isinstance(result, torch.Tensor):
            continue
        shape = [1] * result.dim()
        if node.target in NUMBERS:
            known = NUMBERS[node.target]
            number = node.args[-1] if known is None else known
            if not isinstance(number, Node):
                numbers[node] = torch.full(shape, number, dtype=result.dtype)
            continue
        if not (node.all_input_nodes and numbers.keys() >= {*node.all_input_nodes}):
            continue
        if node.target in VIEWS:
            value = numbers[node.all_input_nodes[0]].reshape(shape)
        elif torch.Tag.pointwise in getattr(node.target, "tags", ()):
            args, kwargs = map_arg((node.args, node.kwargs), numbers.__getitem__)
            value = node.target(*args, **kwargs)
        else:
            continue
        if value.dtype != result.dtype:  # a view of numbers as complex ones
            continue
        with graph.graph.inserting_before(node):
            whole = graph.graph.call_function(
                torch.ops.aten.full.default,
                (list(result.shape), value.item()),
                {"dtype": value.dtype},
            )
        whole.meta["val"], numbers[whole] = result, value
        node.replace_all_uses_with(whole)


_TO_LINALG = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})"
)


def linalg_bytecode(graph: GraphModule) -> bytes:
    """A lowered graph as a module of linalg on tensors, whose locations are nodes.

    Raises:
        ModelError: the nodes that the importer does not take, or that have no
            counterpart in linalg.
        CompileError: some of them crash the importer.
    """
    for module in (f"{BACKEND}.dialects.torch", f"{BACKEND}.extras.fx_importer"):
        importlib.import_module(module)  # once, not in each child
    make = functools.partial(_bytecode, graph)
    return bytes_from_child(make, "the group", "write it in other ops")


def _bytecode(graph: GraphModule) -> bytes:
    try:
        module = _imported(graph)
    except Exception as error:  # the importer raises anything
        raise ModelError(_not_imported(graph, error)) from error
    check_linalg(module.operation, "group")
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def _imported(graph: GraphModule) -> Any:
    """A lowered graph as a module of linalg on tensors."""
    from torch_mlir.dialects import torch as torch_dialect
    from torch_mlir.extras.fx_importer import FxImporter

    context = ir.Context()
    torch_dialect.register_dialect(context)
    importer = FxImporter(context=context, py_attr_tracker=constants_by_id())
    importer.import_stateless_graph(standing(graph).graph)
    module = importer.module
    with module.context:
        PassManager.parse(_TO_LINALG).run(module.operation)
        divide_integers(module.operation)
        with_extremes(module.operation)
    return module


def constants_by_id() -> Any:
    """A table of the constants that the importer knows, by their ids.

    torch-mlir's own table does not keep the constants: the bytes that it makes of
    truth values are freed at once, and a later constant of the same id would have the
    values of the first.
    """
    from torch_mlir.extras.fx_importer import RefTracker

    class Keeping(RefTracker):
        def __init__(self) -> None:
            super().__init__()
            self._tensors: list[Any] = []

        def track(self, referrent: Any) -> Any:
            self._tensors.append(referrent)
            return super().track(referrent)

    return Keeping()


def _not_imported(graph: GraphModule, error: Exception) -> tuple[Refusal, ...]:
    """The nodes that the importer does not take: diagnostics of passes name their
    places, or each is tried by itself."""
    nodes = list(graph.graph.nodes)
    calls = [n for n in nodes if n.op == "call_function" and not is_take(n)]
    refused = _placed(nodes, _text(error)) or [n for n in calls if _fails(graph, n)]
    return tuple(
        Refusal(
            str(node.target),
            f"{NODE}:{nodes.index(node)}",
            "torch-mlir does not take it with these arguments",
            "write it in other ops",
        )
        for node in refused or calls
    )


def _text(error: Exception) -> str:
    """The places of the diagnostics that an error has."""
    if not isinstance(error, ir.MLIRError):
        return ""
    return " ".join(str(diagnostic.location) for diagnostic in error.error_diagnostics)


def _fails(graph: GraphModule, node: Node) -> bool:
    """Whether the importer does not take a node by itself."""
    several = [user for user in node.users if is_take(user)]
    alone, *_ = fused(graph, [node, *several], "alone")
    try:
        _imported(alone)
    except Exception:  # noqa: BLE001 (the importer raises anything)
        return True
    return False


def refused_nodes(graph: GraphModule, error: ModelError) -> list[Node]:
    """The nodes of a lowered graph that an error of reading it names."""
    text = " ".join(refusal.place for refusal in error.refusals)
    return _placed(list(graph.graph.nodes), text)


def _placed(nodes: list[Node], text: str) -> list[Node]:
    """The calls whose positions in the graph a text mentions."""
    places = {int(number) for number in _PLACE.findall(text.replace('"', ""))}
    named = [node for i, node in enumerate(nodes) if i in places]
    return [node for node in named if node.op == "call_function"]


def told(graph: GraphModule, error: ModelError) -> str:
    """An error of reading a lowered graph, with its nodes by their names."""
    nodes = [str(node) for node in graph.graph.nodes]

    def name(match: re.Match[str]) -> str:
        place = int(match[1])
        return nodes[place] if place < len(nodes) else match[0]

    return _PLACE.sub(name, str(error).replace(f'"{NODE}"', NODE))

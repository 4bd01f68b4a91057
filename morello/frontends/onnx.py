"""Models of ONNX: `from_onnx`, by torch-mlir's importer and `from_mlir`."""

import contextlib
import importlib
import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from morello.errors import ArgumentError, CompileError
from morello.frontends.dry_run import bytes_from_child
from morello.frontends.linalg.importer_output import check_linalg
from morello.frontends.linalg.signature import Declared, Signature
from morello.frontends.linalg.unrolling import unroll
from morello.frontends.model import Model, trusted_model
from morello.frontends.onnx_ops.branches import without_branches
from morello.frontends.onnx_ops.contributed import standard
from morello.frontends.onnx_ops.converted import convert
from morello.frontends.onnx_ops.culprits import invalid, reason
from morello.frontends.onnx_ops.expanded import expanded
from morello.frontends.onnx_ops.folding import folded
from morello.frontends.onnx_ops.functions import modern
from morello.frontends.onnx_ops.implied import implied
from morello.frontends.onnx_ops.inputs import with_constants, with_shapes
from morello.frontends.onnx_ops.loops import without_loops
from morello.frontends.onnx_ops.narrow import widened
from morello.frontends.onnx_ops.reads import refuse_unread
from morello.frontends.onnx_ops.results import check_results
from morello.frontends.onnx_ops.writing import copied
from morello.frontends.ranged import one_range, ranged
from morello.frontends.refusals import ModelError, Refusal
from morello.mlir import BACKEND, PassManager, all_ops, ir
from morello.processes.small_stacks import on_large_stack

if TYPE_CHECKING:
    import onnx

_Source: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto"

_TO_LINALG = (
    "builtin.module(torch-onnx-to-torch-backend-pipeline,"
    "torch-backend-to-linalg-on-tensors-backend-pipeline)"
)


@on_large_stack
def from_onnx(
    model: _Source,
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    constants: Mapping[str, Any] | None = None,
    ranges: Mapping[str, str] | None = None,
    fallback: bool = False,
    flushing: bool = False,
) -> Model:
    """A model of ONNX as parts, each of which is a Spec.

    Its arguments are the inputs of the graph, in order; initializers are constants
    that the model holds. It needs the package ``onnx`` (``morello[onnx]``).

    Args:
        model: the path of a file, its contents, or a model in memory, which is not
            changed.
        shapes: of inputs whose shape the file leaves open, by their names. A size may
            be the name of a range.
        constants: arrays or numbers of inputs that are the same in each call (a rate,
            a count, a shape), by their names. They are no arguments then.
        ranges: the sizes that calls may say of a dimension, by the name that the file
            or ``shapes`` give it: ``{"batch": "1..64"}``.
        fallback: as `from_mlir` takes it.
        flushing: as `from_mlir` takes it.

    Raises:
        ImportError: there is no package ``onnx`` or ``onnxscript``.
        CompileError: it is no model of ONNX, or an op is not known to torch-mlir.
        ArgumentError: an input has an open shape that is not given, or another one.
        ModelError: ops that have no Spec: all of them, each with its place; or what
            depends on the size of a range in another way than by how long dimensions
            are.
        SpecError: a range has no sizes.
        OSError: the file cannot be read.
    """
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError(
            "morello.from_onnx needs the package onnx: pip install 'morello[onnx]'"
        ) from error
    source = "model"
    if isinstance(model, str | os.PathLike):
        source = Path(model).name
    elif not isinstance(model, bytes | onnx.ModelProto):
        raise CompileError(
            f"the model is {type(model).__name__}, none of ONNX",
            "give the path of a file, its contents, or an onnx.ModelProto",
        )
    proto = with_constants(onnx, _read(onnx, model, source), constants or {}, source)

    def read(sizes: Mapping[str, int]) -> Model:
        settled = with_shapes(copied(proto), dict(shapes or {}), source, sizes)
        return _model(onnx, settled, source, fallback, flushing)

    if not ranges:
        return read({})
    name, sizes = one_range(ranges)
    if not _has_size(proto, name, shapes or {}):
        raise ArgumentError(
            f"{source} has no input with a dimension '{name}', which has a range",
            f"name it in the shape of an input: shapes={{…: ('{name}', 8)}}",
        )
    _refuse_branches(proto, name)
    return ranged(lambda size: read({name: size}), sizes, name)


def _refuse_branches(proto: Any, name: str) -> None:
    """Check that nothing chooses by a size, of which a few values are read.

    Raises:
        ModelError: each node that may.
    """
    refused = tuple(
        Refusal(
            "onnx.If",
            node.name or node.output[0],
            f"it may choose by the size '{name}', of which a few are read",
            "export the model without branches, or compile it for each size",
        )
        for node in proto.graph.node
        if node.op_type == "If"
    )
    if refused:
        raise ModelError(refused)


def _has_size(proto: Any, name: str, shapes: Mapping[str, Sequence[int | str]]) -> bool:
    """Whether an input has a dimension of a name."""
    names = (dim.dim_param for value in proto.graph.input for dim in _dims(value))
    return any(name in shape for shape in (tuple(names), *shapes.values()))


def _dims(value: Any) -> Any:
    return value.type.tensor_type.shape.dim


def _model(onnx: Any, proto: Any, source: str, fallback: bool, flushing: bool) -> Model:
    """The parts of a model with settled shapes."""
    if not all(map(_element, proto.graph.output)):
        _infer_elements(onnx, proto)
    signature = _signature(onnx, proto, source)
    proto = widened(standard(modern(proto)))
    _name_nodes(proto)
    proto, expected = implied(proto)
    proto = without_branches(folded(without_loops(folded(proto))))
    _name_nodes(proto)
    names = {node.name: f"onnx.{node.op_type}" for node in proto.graph.node}
    text = _survived(onnx, _name_outputs(expanded(proto)), source, names)
    return trusted_model(
        text,
        None,
        source,
        fallback=fallback,
        names=names,
        signature=signature,
        expected=expected,
        flushing=flushing,
    )


def _infer_elements(onnx: Any, proto: Any) -> None:
    """Declare the element types of outputs that have none, in place, where they follow
    from the nodes; sizes follow from those of arguments."""
    inference = onnx.shape_inference
    with contextlib.suppress(inference.InferenceError):
        inferred = inference.infer_shapes(proto).graph.output
        for value, other in zip(proto.graph.output, inferred, strict=True):
            if _element(other):
                value.type.tensor_type.elem_type = _element(other)


def _element(value: Any) -> int:
    """The number of the element type of a tensor; 0 of what is none, or has no type."""
    return int(value.type.tensor_type.elem_type)


def _signature(onnx: Any, proto: Any, source: str) -> Signature:
    """The names and signs of the inputs and outputs of the graph.

    Raises:
        CompileError: one is no tensor.
    """

    def declared(value: Any) -> Declared:
        if not _element(value):
            raise CompileError(
                f"{source}: '{value.name}' is declared as no tensor",
                "declare its element type; of a sequence take each tensor",
            )
        kind = onnx.helper.tensor_dtype_to_np_dtype(_element(value))
        is_narrow = kind.itemsize == 1 and kind.name.endswith(("int4", "int2"))
        return Declared(value.name, kind.kind == "u", kind if is_narrow else None)

    held = {array.name for array in proto.graph.initializer}
    inputs = [value for value in proto.graph.input if value.name not in held]
    return Signature(
        tuple(map(declared, inputs)), tuple(map(declared, proto.graph.output))
    )


def _name_nodes(proto: Any) -> None:
    """Give a name to each node that has none, so that messages say which one it is."""
    taken = {node.name for node in proto.graph.node}
    for place, node in enumerate(proto.graph.node):
        if not node.name:
            name = f"{node.op_type}_{place}"
            while name in taken:
                name += "_"
            taken.add(name)
            node.name = name


def _name_outputs(proto: Any) -> Any:
    """Give a name to each unused result, whose type the importer asks for."""
    for node in proto.graph.node:
        for place, name in enumerate(node.output):
            if not name:
                node.output[place] = f"{node.name}.{place}.unused"
    return proto


def _survived(onnx: Any, proto: Any, source: str, names: dict[str, str]) -> bytes:
    """The model as linalg, made by a child, since some models crash what imports them.

    Raises:
        CompileError: torch-mlir does not know an op, or does not read all of it, or
            crashes.
    """
    refuse_unread(proto)
    for module in (f"{BACKEND}.extras.onnx_importer", f"{BACKEND}.dialects.torch"):
        importlib.import_module(module)  # once, not in each child

    def imported() -> bytes:
        return _bytecode(_with_shapes(onnx, proto, source), source, names)

    return bytes_from_child(imported, source, "export the model with other ops")


def _with_shapes(onnx: Any, proto: Any, source: str) -> Any:
    infer = onnx.shape_inference.infer_shapes
    with contextlib.suppress(onnx.shape_inference.InferenceError):
        return infer(proto, check_type=True, strict_mode=True, data_prop=True)
    try:
        # Any vector is taken for the sizes of a shape above: some models fail for that.
        # Axes and permutations out of range would crash what imports the model.
        return infer(proto, check_type=True, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        raise CompileError(
            f"{source}: {invalid(error)}",
            "correct the model: the standard does not allow this",
        ) from error


def _read(onnx: Any, model: _Source, source: str) -> Any:
    """A model that nobody else has."""
    try:
        if isinstance(model, bytes):
            proto = onnx.load_model_from_string(model)
        elif isinstance(model, str | os.PathLike):
            proto = onnx.load(os.fspath(model))
        else:
            proto = copied(model)
    except OSError:
        raise
    except onnx.checker.ValidationError as error:
        raise CompileError(
            f"{source} has weights that cannot be read: {error}",
            "put the files of its weights where it names them",
        ) from error
    except Exception as error:  # a class of protobuf, which has several
        raise CompileError(
            f"{source} is no model of ONNX: {error}", "give a file that ends in .onnx"
        ) from error
    if not proto.graph.output:
        raise CompileError(f"{source} is a model of ONNX without outputs")
    elsewhere = onnx.TensorProto.EXTERNAL
    if any(held.data_location == elsewhere for held in proto.graph.initializer):
        raise CompileError(
            f"{source} has weights in other files, whose folder is not known",
            "give the path of its file, or onnx.load it with its weights",
        )
    return proto


def _bytecode(proto: Any, source: str, names: dict[str, str]) -> bytes:
    """The model as linalg on tensors, with the names of its nodes as locations.

    Raises:
        CompileError: torch-mlir does not know an op.
    """
    importer: Any = importlib.import_module(f"{BACKEND}.extras.onnx_importer")
    dialect: Any = importlib.import_module(f"{BACKEND}.dialects.torch")
    with ir.Context() as context, ir.Location.unknown():
        dialect.register_dialect(context)
        try:
            module = _lowered(importer, context, proto)
            unroll(module)
            _name_results(module, proto)
        # An initializer with fewer elements than its shape is a ValueError.
        except (importer.OnnxImportError, ir.MLIRError, ValueError) as error:

            def fails(part: Any) -> bool:
                try:
                    _lowered(importer, context, part)
                except (importer.OnnxImportError, ir.MLIRError, ValueError):
                    return True
                return False

            raise CompileError(
                f"{source}: {reason(proto, error, source, fails)}",
                "make inputs that are shapes, axes or places constants (constants=), "
                "export the model in other ops, or compute these outside of it",
            ) from error
        check_linalg(module, source, names)
        check_results(module, proto, source)
        gelus = (node for node in proto.graph.node if node.op_type == "Gelu")
        if any(a.s == b"tanh" for gelu in gelus for a in gelu.attribute):
            _mend_gelu(module)
        written = io.BytesIO()
        module.write_bytecode(written)
    return written.getvalue()


def _lowered(importer: Any, context: ir.Context, proto: Any) -> ir.Operation:
    """Lower a model to a module of linalg on tensors."""
    info = importer.ModelInfo(proto)
    imported = info.create_module(context=context)
    module = imported if isinstance(imported, ir.Operation) else imported.operation
    importer.NodeImporter.define_function(info.main_graph, module).import_all()
    convert(module)
    PassManager.parse(_TO_LINALG).run(module)
    return module


def _name_results(module: ir.Operation, proto: Any) -> None:
    """Give the place of the results, which is not known, their names."""
    names = ", ".join(value.name for value in proto.graph.output)
    for function in module.regions[0].blocks[0].operations:
        if function.operation.name != "func.func":
            continue
        operations = function.operation.regions[0].blocks[0].operations
        last = operations[len(operations) - 1].operation
        with ir.Location.name(names), ir.InsertionPoint(last):
            ir.Operation.create(last.name, operands=list(last.operands))
        last.erase()


def _mend_gelu(module: ir.Operation) -> None:
    """Write the root of 2/π, for which torch-mlir has 0.797724 in GELU by tanh: results
    would differ by 5e-5 from those of others."""
    for op in all_ops(module, "arith.constant"):
        value = op.attributes["value"].maybe_downcast()
        if isinstance(value, ir.FloatAttr) and abs(value.value - 0.797724) < 1e-7:
            root = ir.FloatAttr.get(value.type, math.sqrt(2 / math.pi))
            op.attributes["value"] = root

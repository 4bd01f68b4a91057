"""The one place that knows which MLIR Python bindings are installed.

A real ``mlir`` package is preferred; the bindings bundled in ``torch_mlir`` are what
the package index offers. The two are never mixed: each has its own C++ type registry.
"""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from morello.errors import MorelloError
from morello.processes.interrupts import defer_sigint

_CANDIDATES = ("mlir", "torch_mlir")


def _backend() -> str:
    """The first candidate with an IR module and the transform interfaces we need."""
    for name in _CANDIDATES:
        try:
            ir_module = importlib.import_module(f"{name}.ir")
            transform = importlib.import_module(f"{name}.dialects.transform")
        except ImportError:
            continue
        if hasattr(ir_module, "Context") and hasattr(transform, "TransformOpInterface"):
            return name
    raise MorelloError(
        "no usable MLIR Python bindings: neither 'mlir' nor 'torch_mlir' has an 'ir' "
        "module with transform interfaces",
        "install them with: pip install torch-mlir==20261001",
    )


BACKEND = _backend()


def walk(operation: Any, visit: Any, *order: Any) -> None:
    """``operation.walk(visit, *order)``, which Ctrl-C does not end half-way.

    The bindings turn what a callback raises into a `RuntimeError`.

    Raises:
        KeyboardInterrupt: after the walk, if SIGINT arrived meanwhile.
    """
    with defer_sigint():
        operation.walk(visit, *order)


def all_ops(
    root: "ir.Operation", *names: str, outer_first: bool = False
) -> "list[ir.Operation]":
    """The ops within an op, itself included, that have one of some names; all of them
    if no name is given. Those inside of others come first, unless ``outer_first``."""
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not names or op.name in names:
            ops.append(op.operation)
        return ir.WalkResult.ADVANCE

    walk(root, visit, *([ir.WalkOrder.PRE_ORDER] if outer_first else []))
    return ops


def defined_functions(module: "ir.Operation") -> "list[ir.Operation]":
    """The functions with a body of a module and of the modules in it, in order."""
    functions = all_ops(module, "func.func", outer_first=True)
    return [function for function in functions if len(function.regions[0].blocks)]


def dialect(name: str) -> Any:
    """The bindings of an upstream dialect, e.g. ``dialect("arith")``."""
    return importlib.import_module(f"{BACKEND}.dialects.{name}")


def build_value(
    name: str, kind: "ir.Type", *operands: "ir.Value", **attributes: "ir.Attribute"
) -> "ir.Value":
    """The one result of a new op, at the insertion point and the current location."""
    op = ir.Operation.create(name, [kind], list(operands), attributes)
    return op.results[0]


def result_of(op: Any) -> "ir.Value":
    """The one result of an op of a dialect's bindings."""
    value: ir.Value = op.result
    return value


def replace_op(op: "ir.Operation", *values: "ir.Value") -> None:
    """Remove an op; what read its results reads other values."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def maker(value: "ir.Value", name: str) -> Any:
    """The op that makes a value, if it has this name; else None."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) or owner.name != name else owner


def known_index(value: "ir.Value") -> int | None:
    """The number that an index or an integer is; None for what is computed."""
    constant = maker(value, "arith.constant")
    return constant and int(ir.IntegerAttr(constant.attributes["value"]).value)


def generic(
    kind: "ir.Type",
    operands: "Sequence[ir.Value]",
    maps: "Sequence[ir.AffineMap]",
    iterators: Sequence[str],
) -> "ir.Operation":
    """A `linalg.generic` with one result, its last operand, and an empty body."""
    loops = [ir.Attribute.parse(f"#linalg.iterator_type<{each}>") for each in iterators]
    op = ir.Operation.create(
        "linalg.generic",
        results=[kind],
        operands=operands,
        attributes={
            "indexing_maps": ir.ArrayAttr.get(list(map(ir.AffineMapAttr.get, maps))),
            "iterator_types": ir.ArrayAttr.get(loops),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
        },
        regions=1,
    )
    elements = [ir.RankedTensorType(each.type).element_type for each in operands]
    unknown = [ir.Location.unknown()] * len(elements)
    op.regions[0].blocks.append(*elements, arg_locs=unknown)
    return op


if TYPE_CHECKING:
    from torch_mlir import ir, rewrite
    from torch_mlir.passmanager import PassDisplayMode, PassManager
else:
    ir = importlib.import_module(f"{BACKEND}.ir")
    rewrite = importlib.import_module(f"{BACKEND}.rewrite")
    _passmanager = importlib.import_module(f"{BACKEND}.passmanager")
    PassManager = _passmanager.PassManager
    PassDisplayMode = _passmanager.PassDisplayMode


# Attributes that are locations are read as plain attributes: the bindings' own classes
# for them raise a TypeError wherever one is read.
for _name in ("CallSiteLoc", "FileLineColLoc", "FusedLoc", "NameLoc", "UnknownLoc"):
    if hasattr(ir, _name):
        _kind = getattr(ir, _name).static_typeid
        ir.register_type_caster(_kind, replace=True)(lambda attribute: attribute)

__all__ = [
    "BACKEND",
    "PassDisplayMode",
    "PassManager",
    "all_ops",
    "build_value",
    "dialect",
    "ir",
    "known_index",
    "maker",
    "replace_op",
    "result_of",
    "rewrite",
]

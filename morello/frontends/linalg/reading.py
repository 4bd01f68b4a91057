"""Text or bytes of a program to one function of linalg on tensors.

StableHLO is in the wheel of torch-mlir, but is registered by hand: `load_stablehlo`.
Private functions are inlined, named ops become `linalg.generic`, so that what reads the
module knows one op.
"""

import dataclasses
import importlib
import re
import threading
from typing import Any

from morello.errors import CompileError
from morello.frontends.linalg.larger_ops import decompose_larger_ops
from morello.frontends.linalg.signature import Signature, make_signless, signatures
from morello.frontends.linalg.types import dynamic
from morello.frontends.linalg.unrolling import WRITTEN_OUT, unroll, why_not
from morello.frontends.refusals import (
    ModelError,
    OpError,
    Refusal,
    key_of,
    place_of,
    refusal_of,
)
from morello.frontends.settling import settle
from morello.frontends.stablehlo import repeated, with_loops, with_loops_of_torch
from morello.frontends.stablehlo.chlo_functions import write_as_math
from morello.frontends.stablehlo.concatenation import keep_concatenation
from morello.frontends.stablehlo.quantized import PLAIN, quantized
from morello.frontends.stablehlo.saturating_casts import saturate_casts
from morello.frontends.stablehlo.unsigned_products import widen_unsigned
from morello.mlir import BACKEND, PassManager, all_ops, ir, walk

Text = str | bytes

_SIMPLER = "convert-elementwise-to-linalg,linalg-generalize-named-ops,canonicalize,cse"

_FROM_CHLO = (
    "builtin.module(func.func(stablehlo-legalize-composite-to-call),"
    "inline{default-pipeline=},symbol-dce,func.func(chlo-legalize-to-stablehlo))"
)
_FROM_STABLEHLO = (
    "builtin.module(inline,symbol-dce,stablehlo-refine-shapes,"
    "func.func(stablehlo-aggressive-simplification),canonicalize,"
    f"stablehlo-legalize-to-linalg,canonicalize,cse,{_SIMPLER})"
)
_INLINED = "builtin.module(inline{default-pipeline=},symbol-dce)"
_FROM_VHLO = (
    "builtin.module(vhlo-to-version{target=VERSION},vhlo-legalize-to-stablehlo)"
)
_FROM_LINALG = f"builtin.module(inline,symbol-dce,canonicalize,cse,{_SIMPLER})"

_BYTECODE = b"ML\xefR"
"""The first bytes of a module in bytecode."""

_LOCK = threading.Lock()
_DIALECTS = ("stablehlo", "chlo", "vhlo")


def load_stablehlo(context: ir.Context) -> None:
    """Make StableHLO, CHLO and VHLO known to a context, and their passes.

    Raises:
        CompileError: the bindings have none of them.
    """
    try:
        stablehlo: Any = importlib.import_module(f"{BACKEND}._mlir_libs._stablehlo")
        torch: Any = importlib.import_module(f"{BACKEND}._mlir_libs._torchMlir")
    except ImportError as error:
        raise CompileError(
            f"the MLIR bindings '{BACKEND}' have no StableHLO",
            "install torch-mlir and remove the other package",
        ) from error
    with _LOCK:
        stablehlo.register_stablehlo_passes()
        stablehlo.register_dialect(context, load=True)
        torch.register_dialect(context, load=True)
        # CHLO and VHLO have no binding; a pass that depends on them loads them.
        load = (
            "builtin.module(func.func(convert-torch-to-stablehlo,convert-torch-to-tmtensor),"
            "stablehlo-legalize-to-vhlo)"
        )
        PassManager.parse(load).run(ir.Module.parse("module {}").operation)


@dataclasses.dataclass(frozen=True)
class Program:
    """A module that was read, and what its text said that linalg does not."""

    module: ir.Operation
    names: dict[str, str]
    """The op that the text had at each place."""
    signatures: dict[str, Signature]
    """The signatures of the functions, by name."""


def read_program(
    program: Text,
    source: str,
    fallback: bool = False,
    name: str | None = None,
    size: int | None = None,
) -> Program:
    """The module of a program, all of it `linalg.generic`, in the current context.

    Args:
        program: text; or bytes: text, bytecode, or a portable artifact of StableHLO.
        source: the name of the file, for messages.
        fallback: take loops whose number of trips is data.
        name: of the function, as `chosen_function` takes it.
        size: of dimensions that the text leaves open; None to leave them so.

    Raises:
        CompileError: it cannot be parsed.
        ModelError: ops that have no counterpart in linalg.
    """
    context = ir.Context.current
    load_stablehlo(context)
    module = _parsed(program, source)
    names = _names_by_place(module)
    _from_vhlo(module, source)
    _dequantize(module, source)
    text = program if isinstance(program, str) else _decoded(program)
    declared = signatures(module, text, source)
    if size is not None:
        _run(_INLINED, module, source)
        function = chosen_function(module, name)
        settle(module, function, size, lambda passes: _run(passes, module, source))
    to_linalg(module, source, fallback)
    return Program(module, names, declared)


def _decoded(program: bytes) -> str:
    """The text of bytes; empty for bytecode."""
    return "" if program.startswith(_BYTECODE) else program.decode(errors="replace")


def _names_by_place(module: ir.Operation) -> dict[str, str]:
    """The name of the op that a program has at each location."""
    names: dict[str, str] = {}
    for op in all_ops(module, outer_first=True):
        names.setdefault(key_of(op.location), op.name)
    return names


def to_linalg(module: ir.Operation, source: str, fallback: bool = False) -> None:
    """Bring a module to linalg on tensors, in place.

    Args:
        module: the program.
        source: the name of the file, for messages.
        fallback: take loops whose number of trips is data.

    Raises:
        ModelError: ops that have no counterpart in linalg.
    """
    _from_vhlo(module, source)
    names = _dialects_of(module)
    if names & {"scf", "stablehlo"} and all_ops(module, *WRITTEN_OUT):
        _run(_INLINED, module, source)  # bodies may be functions of their own
        unroll(module)
    decompose_larger_ops(module)
    if names & {*_DIALECTS}:
        _run(_INLINED, module, source)  # so that refusals tell who calls
        widen_unsigned(module)
        keep_concatenation(module)
        write_as_math(module)
        _run(_FROM_CHLO, module, source)
        saturate_casts(module)
        with_loops(module)
        _refuse_foreign(module, source, fallback)
        _run(_FROM_STABLEHLO, module, source)
        make_signless(module)
        repeated(module)
        _run(f"builtin.module({_SIMPLER})", module, source)
    else:
        # A batch norm checks its variance with one, and the copies of the body that it
        # forbids would stay.
        for op in all_ops(module, "cf.assert"):
            op.erase()
        make_signless(module)
        with_loops_of_torch(module)
        _run(_FROM_LINALG, module, source)


def _from_vhlo(module: ir.Operation, source: str) -> None:
    """Bring a portable artifact to StableHLO, in place."""
    if "vhlo" in _dialects_of(module):
        stablehlo: Any = importlib.import_module(f"{BACKEND}._mlir_libs._stablehlo")
        newest = stablehlo.get_current_version()
        _run(_FROM_VHLO.replace("VERSION", newest), module, source)


def _dequantize(module: ir.Operation, source: str) -> None:
    """Bring ops of quantised types to those of integers and floats, in place.

    Raises:
        ModelError: ops of unsigned integers.
    """
    ops = list(quantized(module))
    refusals = [refusal_of(op, error, source) for op, error in ops if error is not None]
    if refusals:
        raise ModelError(tuple(refusals))
    if ops:
        _run(PLAIN, module, source)


_ATTRIBUTE = "attribute created with unregistered dialect"
"""The words of MLIR for an attribute of another dialect."""


def _parsed(program: Text, source: str) -> ir.Operation:
    if not isinstance(program, str | bytes):
        raise CompileError(
            f"the program is {type(program).__name__}, not text or bytes",
            "give the text of a module, its bytecode, or a portable artifact",
        )
    try:
        if isinstance(program, bytes) and not program.startswith(_BYTECODE):
            program = program.decode()
        elif isinstance(program, str):
            program.encode()  # refuses what is half of a character
        if isinstance(program, bytes):
            return ir.Module.parse(program).operation
        operation = _operation(program, source)
    except UnicodeDecodeError as error:
        raise CompileError(
            f"{source} is no module: its bytes are neither text nor bytecode of MLIR",
            "give the text or the bytecode that the exporter writes; of jax.export "
            "that is exported.mlir_module_serialized, not exported.serialize()",
        ) from error
    except (ir.MLIRError, UnicodeError) as error:
        _refuse_unknown(error, source)
        context = ir.Context.current
        if _ATTRIBUTE in _first(error) and not context.allow_unregistered_dialects:
            # How JAX shards custom calls, say: the calls are refused by their places.
            context.allow_unregistered_dialects = True
            return _parsed(program, source)
        raise CompileError(
            f"{source} is no module of linalg or StableHLO: {_first(error)}",
            "give the text or the bytecode that the exporter writes",
        ) from error
    if operation.operation.name == "func.func":  # alone, without a module around it
        module = ir.Module.create(operation.location)
        module.body.append(operation)
        return module.operation
    if operation.operation.name != "builtin.module":
        raise CompileError(
            f"{source} is no module but {operation.operation.name}",
            "give the whole module",
        )
    return operation.operation


def _operation(text: str, source: str) -> Any:
    """The op that a text is; functions without a module around them are a module.

    Raises:
        ir.MLIRError: where the text is wrong.
    """
    try:
        return ir.Operation.parse(text, source_name=source)
    except ir.MLIRError as error:
        if _SEVERAL not in str(error):
            raise
    return ir.Module.parse(text).operation


_SEVERAL = "source must contain a single top-level operation"


_UNKNOWN = re.compile(r"Dialect `\w+' not found for custom op '([\w.]+)'")


def _refuse_unknown(error: Exception, source: str) -> None:
    """Refuse an op of another dialect, at which parsers stop.

    Raises:
        ModelError: the op.
    """
    match = _UNKNOWN.search(_first(error))
    if match is not None and isinstance(error, ir.MLIRError):
        location = error.error_diagnostics[0].location
        reason = "it is no op of linalg on tensors or StableHLO"
        place = place_of(location, source)
        raise ModelError((Refusal(match[1], place, reason, _OUTSIDE),)) from error


def _first(error: Exception) -> str:
    if isinstance(error, ir.MLIRError) and error.error_diagnostics:
        diagnostic = error.error_diagnostics[0]
        place = str(diagnostic.location).replace("loc(", "").rstrip(")")
        return f"{place}: {diagnostic.message}"
    return str(error).splitlines()[0]


def _dialects_of(operation: ir.Operation) -> set[str]:
    return {op.name.partition(".")[0] for op in all_ops(operation)}


def _run(pipeline: str, module: ir.Operation, source: str) -> None:
    """Run passes; what they fail at is refused.

    Raises:
        ModelError: with the ops that the diagnostics name.
    """
    try:
        PassManager.parse(pipeline).run(module)
    except ir.MLIRError as error:
        refusals = tuple(
            Refusal(
                _quoted(diagnostic.message),
                place_of(diagnostic.location, source),
                diagnostic.message,
                "compute it outside of the program",
                diagnostic.location,
            )
            for diagnostic in error.error_diagnostics
        )
        remedy = "compute it outside of the program"
        unknown = Refusal("module", "module", str(error), remedy)
        raise ModelError(refusals or (unknown,)) from error


def _quoted(message: str) -> str:
    """The op that a diagnostic names in quotes."""
    parts = message.split("'")
    return parts[1] if len(parts) > 2 else "op"


def _refuse_foreign(module: ir.Operation, source: str, fallback: bool) -> None:
    """Refuse what has no counterpart in linalg, all at once.

    Args:
        fallback: take loops whose number of trips is data.

    Raises:
        ModelError: every such op.
    """
    refusals: list[Refusal] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        refused = _foreign(op, fallback)
        if refused is not None:
            refusals.append(refusal_of(op, refused, source))
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    walk(module, visit, ir.WalkOrder.PRE_ORDER)
    if refusals:
        raise ModelError(tuple(refusals))


_OUTSIDE = "compute it outside of the program"
_INDICES = "elements are read at places that are data", _OUTSIDE
_CONTROL = "control flow depends on data", "export the branch or the unrolled loop"

_FOREIGN = {
    "stablehlo.case": _CONTROL,
    "stablehlo.custom_call": (
        "it calls a function that only its framework has",
        _OUTSIDE,
    ),
    "stablehlo.dynamic_gather": _INDICES,
    "stablehlo.if": _CONTROL,
    "stablehlo.scatter": _INDICES,
}


def _foreign(op: ir.Operation, fallback: bool) -> OpError | None:
    """Why an op of StableHLO has no counterpart in linalg; None where it has one."""
    if op.name == "stablehlo.while" and not fallback:
        return OpError(*why_not(op))
    if op.name in _FOREIGN:
        return OpError(*_FOREIGN[op.name])
    values = [*op.operands, *op.results]
    return next((r for r in (dynamic(v.type) for v in values) if r is not None), None)


def chosen_function(module: ir.Operation, name: str | None) -> ir.Operation:
    """The function of a module that is meant.

    Args:
        name: its name; None for the only public one, or ``main``.

    Raises:
        CompileError: there is none, or there are several.
    """
    functions = {
        str(ir.StringAttr(op.attributes["sym_name"]).value): op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "func.func" and len(op.regions[0].blocks)
    }
    if name is None and len(functions) > 1:
        name = "main"
    if name is None and functions:
        return next(iter(functions.values()))
    if name not in functions:
        names = ", ".join(sorted(functions)) or "none"
        raise CompileError(
            f"the module has no function '{name or 'main'}'",
            f"give name=…; its functions are: {names}",
        )
    return functions[name]

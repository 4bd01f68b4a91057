"""Functions on tensors to functions of Spec ops, for the passes that convert."""

import dataclasses
import re

from morello.dialect import load
from morello.dialect.target import TARGET_ATTRIBUTE
from morello.errors import CompileError
from morello.frontends.grouping.emission import add_model_function
from morello.frontends.grouping.groups import grouped
from morello.frontends.grouping.parts import Part
from morello.frontends.linalg.importing import imported
from morello.frontends.linalg.reading import to_linalg
from morello.frontends.nodes.improving import improved
from morello.frontends.refusals import ModelError, Refusal
from morello.machine import find_target, print_target
from morello.mlir import defined_functions, ir
from morello.passes.base import Pass, PassFailure, option
from morello.spec.tensors.limits import Limits

DEFAULT_TARGET = "avx2"


@dataclasses.dataclass(frozen=True)
class ConvertModel(Pass):
    """Options and steps that the converting passes share."""

    target: str = option("", "name of the target; if empty, avx2 and not recorded")

    def __post_init__(self) -> None:
        if self.target:
            find_target(self.target)

    def run(self, module: ir.Operation) -> None:
        """Convert the functions of a module to Specs, in place.

        Raises:
            PassFailure: at the last op that is refused, the others being reported.
        """
        with module.location:
            convert(module, self.target)


def convert(module: ir.Operation, target: str) -> None:
    """Replace each function of a module on tensors by one on memrefs.

    Raises:
        PassFailure: at the last op that has no Spec; the others are reported before.
    """
    load(module.context)
    machine = find_target(target or DEFAULT_TARGET)
    try:
        to_linalg(module, "-")
        for function in defined_functions(module):
            _replace(function, machine.limits)
    except ModelError as error:
        raise _reported(error, module) from error
    except CompileError as error:
        raise PassFailure(module.location, str(error)) from error
    if target:
        text = ir.StringAttr.get(print_target(machine), module.context)
        module.attributes[TARGET_ATTRIBUTE] = text


def _replace(function: ir.Operation, limits: Limits) -> None:
    tensors = improved(imported(function, "-"))
    parts = [
        (step, step.spec(limits)) if isinstance(step, Part) else step
        for step in grouped(tensors)
    ]
    with function.location, ir.InsertionPoint(function):
        name = tensors.name
        function.attributes["sym_name"] = ir.StringAttr.get(f"{name}__old")
        add_model_function(tensors, parts, name)
    function.erase()


def _reported(error: ModelError, module: ir.Operation) -> PassFailure:
    """Report all refusals but the last, and return that as a failure."""
    *others, last = error.refusals
    for refusal in others:
        _where(refusal, module).emit_error(_text(refusal))
    return PassFailure(_where(last, module), _text(last))


def _text(refusal: Refusal) -> str:
    return f"'{refusal.op}' op {refusal.reason}; {refusal.remedy}"


def _where(refusal: Refusal, module: ir.Operation) -> ir.Location:
    """The place of a refusal for a diagnostic; that of the module if it has none."""
    place = re.fullmatch(r"(.*):(\d+):(\d+)", refusal.place)
    if refusal.location is not None or place is None:
        return refusal.location or module.location
    file, line, column = place.groups()
    return ir.Location.file(file, int(line), int(column), module.context)

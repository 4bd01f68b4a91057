"""Plain code run by itself, for the definition of a model: `evaluate_plainly`."""

import re

from morello.dialect import in_context
from morello.frontends.grouping.parts import PlainPart
from morello.frontends.nodes.tensors import Array, Tensors
from morello.frontends.plain.lowering import PLAIN
from morello.frontends.plain.outlining import element_of
from morello.machine.architectures import HOST
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.passes.plan_memory import ATTRIBUTE as WORKSPACE
from morello.runtime.calls.function import NativeFunction
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import compile_llvm
from morello.runtime.runtime_calls import check_calls
from morello.runtime.translate import lower_to_llvm_text

_PLANNED = "builtin.module(morello-plan-memory)"


def evaluate_plainly(
    part: PlainPart, known: dict[int, Array], tensors: Tensors
) -> None:
    """Run plain code by itself.

    Args:
        known: the elements of each root, in one dimension; outputs are added.
    """
    arrays = [
        known[tensors.root(tensor)].reshape(tensors.all[tensor].shape)
        for tensor in part.inputs
    ]
    function = plain_function(part.code.text, len(arrays))
    # The code has integers without a sign.
    signless = [
        array.view(parameter.dtype)
        for array, parameter in zip(arrays, function.parameters, strict=False)
    ]
    returned = function(*signless)
    results = returned if isinstance(returned, tuple) else (returned,)
    for tensor, array in zip(part.outputs, results, strict=False):
        if tensor >= 0:
            known[tensor] = array.view(tensors.element(tensor).numpy).reshape(-1)


def plain_function(text: str, inputs: int) -> NativeFunction:
    """Plain code as a function of arrays that returns new ones, for any CPU.

    Args:
        text: of a module, as `PlainCode` has it.
        inputs: how many of its memrefs it reads.
    """
    with in_context():
        module = ir.Module.parse(text)
        function = next(
            op for op in module.body.operations if op.operation.name == "func.func"
        )
        parameters = []
        for number, kind in enumerate(function.type.inputs):
            element = element_of(kind)
            assert element is not None
            shape = tuple(ir.MemRefType(kind).shape)
            name = f"plain{number}"
            is_output = number >= inputs
            parameters.append(
                Parameter(name, element.numpy, shape, is_output=is_output)
            )
        Pipeline.parse(_PLANNED).run(module.operation)
        workspace = int(ir.IntegerAttr(function.attributes[WORKSPACE]).value)
        llvm = lower_to_llvm_text(module)
    check_calls(llvm, mathematics=True)
    # Without these features such casts are calls of a library.
    halves = HOST.half_floats if re.search(r"\bf16\b", text) else ""
    engine = compile_llvm(llvm, cpu=HOST.base_cpu, features=halves)
    return NativeFunction(engine, PLAIN, tuple(parameters), workspace, 1)

"""Many programs in one module, brought to machine code together.

`build_programs` is the entry point: a function for each program, one schedule for all,
the passes of the compiler, one call of LLVM.
"""

import dataclasses
from collections.abc import Sequence

from morello.compiler.stages import PLANNED, SCHEDULED
from morello.dialect import in_context
from morello.dialect.build import build_spec_op
from morello.dialect.memrefs import argument_type
from morello.dialect.target import TARGET_ATTRIBUTE
from morello.machine import AVX2, Target, print_target
from morello.mlir import dialect, ir
from morello.passes.parts.schedule_builder import Goal, build_schedule
from morello.passes.pipelines.pipeline import Pipeline
from morello.passes.plan_memory import ATTRIBUTE as WORKSPACE
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text
from morello.search.impl import Impl
from morello.spec import Spec


@dataclasses.dataclass(frozen=True)
class Program:
    """Machine code of one program."""

    spec: Spec
    engine: Engine
    name: str
    """Of its function."""
    workspace_bytes: int
    label: str = ""
    """How to make it again: what a failure prints."""

    @property
    def address(self) -> int:
        return self.engine.address(self.name)


def scheduled_module(impls: Sequence[Impl], target: Target = AVX2) -> ir.Module:
    """A module with a function ``f<i>`` and a schedule for each program.

    In the current context, in which the dialects are loaded. The schedule is printed
    and read again: what is tested is what a file would say.
    """
    with ir.Location.unknown():
        module = ir.Module.create()
        name = ir.StringAttr.get(print_target(target))
        module.operation.attributes[TARGET_ATTRIBUTE] = name
        goals = []
        for index, impl in enumerate(impls):
            goals.append(Goal(_function(module, f"f{index}", impl.spec), impl))
        build_schedule(module.operation, goals)
        return ir.Module.parse(str(module))


def _function(module: ir.Module, name: str, spec: Spec) -> ir.Operation:
    """Append a function that holds a Spec op, and give the op."""
    func = dialect("func")
    types = [argument_type(spec, i) for i in range(len(spec.tensors))]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, (types, []))
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        op = build_spec_op(spec, list(block.arguments))
        func.ReturnOp([])
    return op


def functions(module: ir.Module) -> list[ir.Operation]:
    """The functions of a module, in order."""
    return [
        op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    ]


def workspace_bytes(function: ir.Operation) -> int:
    """What a function needs besides its arguments, after `plan_memory`."""
    return int(ir.IntegerAttr(function.attributes[WORKSPACE]).value)


def lower(module: ir.Module) -> None:
    """Run the passes from a module with a schedule to loops and vectors."""
    for pipeline in (SCHEDULED, PLANNED):
        Pipeline.parse(pipeline).run(module.operation)


def build_programs(
    impls: Sequence[Impl], labels: Sequence[str], target: Target = AVX2, opt: int = 3
) -> list[Program]:
    """Machine code of every program, from one module; ``opt`` is LLVM's level."""
    with in_context():
        module = scheduled_module(impls, target)
        lower(module)
        sizes = [workspace_bytes(function) for function in functions(module)]
        text = lower_to_llvm_text(module)
    features = ",".join(f"+{feature}" for feature in target.features)
    engine = compile_llvm(text, cpu=target.cpu, features=features, opt=opt)
    return [
        Program(impl.spec, engine, f"f{i}", size, label)
        for i, (impl, size, label) in enumerate(zip(impls, sizes, labels, strict=True))
    ]

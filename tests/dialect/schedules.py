"""Modules that hold a Spec and a schedule, built and run."""

from collections.abc import Callable

from morello.actions import Action
from morello.dialect.build import spec_function
from morello.dialect.transform import build_action_op, roles_of
from morello.machine import AVX2, Target
from morello.mlir import dialect, ir
from morello.passes.apply_schedule import ApplySchedule
from morello.spec import Spec

Write = Callable[[ir.Value], None]
"""Writes a schedule, given the handle to the Spec op."""


def scheduled(spec: Spec, write: Write, target: Target = AVX2) -> ir.Module:
    """The module of a Spec after a schedule, in the current context."""
    transform = dialect("transform")
    with ir.Location.unknown():
        module = spec_function(spec, "f", target)
        module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
        any_op = transform.AnyOpType.get()
        with ir.InsertionPoint(module.body):
            main = transform.NamedSequenceOp(
                "__transform_main",
                [any_op],
                [],
                arg_attrs=[{"transform.readonly": ir.UnitAttr.get()}],
            )
        with ir.InsertionPoint(main.body):
            handle = dialect("transform.structured").MatchOp.match_op_names(
                main.bodyTarget, [f"morello.{spec.kind.name}"]
            )
            write(handle.result)
            transform.YieldOp([])
    # What is printed and read again must be the same schedule.
    module = ir.Module.parse(str(module))
    ApplySchedule().run(module.operation)
    assert module.operation.verify()
    return module


def one_action(spec: Spec, action: Action, target: Target = AVX2) -> ir.Module:
    """The module of a Spec after one action; what is left is marked by its role."""
    transform = dialect("transform")

    def write(handle: ir.Value) -> None:
        left = build_action_op(action, handle)
        for role, result in zip(roles_of(type(action)), left, strict=True):
            transform.AnnotateOp(result, f"test.{role}")

    return scheduled(spec, write, target)


def function_of(module: ir.Module) -> ir.Operation:
    """The function of a module that holds one."""
    (function,) = module.body.operations
    return function.operation

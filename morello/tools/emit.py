"""``morello emit``: print a stage on the way from a Spec to machine code."""

from morello.compiler import Searches
from morello.dialect import load
from morello.mlir import ir
from morello.search import Solution
from morello.search.layers import NONE
from morello.stages import build_stages, spec_module
from morello.tools.commands import EmitOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.request import Request


def main(options: EmitOptions) -> int:
    """Do what the command line says.

    Raises:
        MorelloError: what is refused; then nothing is written.
    """
    check_output(options.output)
    if options.schedule is not None and options.stage == "spec":
        raise UsageError(
            "the stage 'spec' comes before a schedule", "leave --schedule out"
        )
    request = Request.read(
        options.spec, options.target, options.schedule, options.db, options.time_limit
    )
    text = _text(request, options.stage)
    write_output(options.output, text if text.endswith("\n") else f"{text}\n")
    return 0


def _text(request: Request, stage: str) -> str:
    match stage:
        case "spec":
            with ir.Context() as context, ir.Location.unknown():
                load(context)
                return str(spec_module(request.spec, request.target))
        case "schedule" | "mlir":
            return _module(request, stage)
        case "llvm":
            return request.compile().llvm
        case "asm":
            return request.compile().asm
        case _:
            raise UsageError(f"there is no stage '{stage}'")


def _module(request: Request, stage: str) -> str:
    """A stage in MLIR: unlike what follows it needs no CPU that could run it."""
    with request.working() as show:
        search = Searches(request.database() or NONE, request.patience(show))
        program: str | Solution
        if request.schedule is None:
            spec, program = search.settle(request.goal, request.target)
        else:
            spec, program = request.spec, request.schedule
        stages = build_stages(spec, request.target, program, search)
    request.tell(stages.solution, *stages.filled)
    return stages.schedule if stage == "schedule" else stages.mlir

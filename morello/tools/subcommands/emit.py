"""``morello emit``: print a stage on the way from a Spec to machine code."""

from morello.compiler.driver import Driver
from morello.compiler.searches import Searches
from morello.compiler.stages import spec_module
from morello.compiler.threads import thread_count
from morello.dialect import in_context
from morello.search.queries.best_program import parallel_goal
from morello.search.storage.overlay import NONE
from morello.spec import OpenSpec
from morello.tools.commands import EmitOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.request import Request


def main(options: EmitOptions) -> int:
    """Run the command.

    Raises:
        MorelloError: an argument is refused; nothing is written.
    """
    check_output(options.output)
    if options.schedule is not None and options.stage == "spec":
        raise UsageError(
            "the stage 'spec' comes before a schedule", "leave --schedule out"
        )
    request = Request.read(
        options.spec, options.target, options.schedule, options.db, options.time_limit
    )
    threads = options.threads
    if threads is None:
        # The text of a Spec is the same on every machine.
        threads = (
            1 if request.schedule is None else thread_count(None, request.schedule)
        )
    text = _text(request, options.stage, threads, None if options.tuned else False)
    write_output(options.output, text if text.endswith("\n") else f"{text}\n")
    return 0


def _text(request: Request, stage: str, threads: int, tune: bool | None) -> str:
    match stage:
        case "spec":
            spec = request.spec
            with in_context():
                return str(spec_module(*parallel_goal(spec, request.target, threads)))
        case "schedule" | "mlir":
            return _module(request, stage, threads, tune)
        case "llvm":
            return request.compile(threads, tune=tune, load=False).llvm
        case "asm":
            return request.compile(threads, tune=tune, load=False).asm
        case _:
            raise UsageError(f"there is no stage '{stage}'")


def _module(request: Request, stage: str, threads: int, tune: bool | None) -> str:
    """A stage in MLIR: unlike what follows it needs no CPU that could run it."""
    with request.working() as show:
        search = Searches(
            request.database() or NONE,
            request.patience(show),
            0.0 if tune is None else None,
        )
        schedule = request.schedule
        goal = request.goal if schedule is None else OpenSpec(request.spec)
        stages = Driver(request.target, threads, search).stages(goal, schedule)
    request.tell(stages.solution, *stages.filled)
    return stages.schedule if stage == "schedule" else stages.mlir

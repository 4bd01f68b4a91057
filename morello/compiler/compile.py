"""From a Spec to a kernel that runs in this process: `compile`."""

from typing import Any, Literal

from morello.compiler.driver import Driver, available_threads
from morello.compiler.goal import Program, goal_of
from morello.compiler.kernel import Kernel, parameters
from morello.compiler.searches import Searches, tuning_time
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.dialect.build import check_ranges
from morello.errors import CompileError, is_file_name
from morello.machine import Target
from morello.processes.small_stacks import on_large_stack
from morello.processes.subinterpreters import in_any_interpreter
from morello.search import Patience
from morello.search.storage.overlay import Overlay, PathLike
from morello.spec import Encoding, OpenSpec, Spec


@on_large_stack
@in_any_interpreter
def compile(
    spec: str | Spec | OpenSpec | Program,
    *,
    target: str | Target | None = None,
    threads: int | None = None,
    schedule: str | None = None,
    db: PathLike | Overlay | None = None,
    time_limit: float | Patience | None = None,
    tune: bool | float | Literal["learned"] | None = None,
    regret: float | None = None,
    load: bool = True,
) -> Kernel:
    """The fastest kernel for a Spec that the search finds.

    Args:
        spec: what to compute, as a `Spec` or as text: ``matmul:512x512x512:f32``. An
            operand that is packed once may leave its layout to the search:
            ``matmul:1x512x512:f32:rhs=any``; `Kernel.pack` then gives the argument. Or
            a program: what `from_mlir`, `from_onnx` or `trace` returns.
        target: the machine: a name, optionally with numbers in braces, ``@FILE``, or a
            `Target`. The default is the target of the given schedule, else
            ``MORELLO_TARGET``, else ``native``: the known one nearest to this machine.
        threads: the most threads that a call may use, at least 1. The default is the
            number of the given schedule, else ``MORELLO_THREADS``, else the number of
            processors that this process may use.
        schedule: a module with the Spec and a schedule, as `Kernel.schedule` gives it,
            used instead of a search. Its holes are searched, and `Kernel.schedule` is
            then the complete schedule.
        db: the database of solved Specs: a path, several with ``:`` between them (the
            first is written), or ``none``. The default is ``MORELLO_DB``, else none.
        time_limit: seconds after which there should be a kernel. The search stops
            earlier, by what code takes, with the best program that it knows (then
            ``Kernel.solution.complete`` is false). Or a `Patience`, which can say more.
        tune: whether measurements on this machine decide. True, or a number of seconds
            that it may take, times programs of different classes, unless that was done
            before, and takes the fastest, which the database keeps, or without one the
            process. The default is a choice that was measured before, if there is one.
            False is the model's choice. ``"learned"`` is the choice of the target's
            learned model among programs of different classes, for calls with one
            thread. Neither measures, and both are the same on every machine.
        regret: of a Spec with a size that each call says (``matmul:1..64x256x256``):
            how much more than its best program a size may cost, in percent. The more,
            the fewer programs the kernel has. The default is 0, or the least for which
            the kernel has few enough.
        load: False for a machine that this one is not: the kernel is there to be saved,
            read and pickled, and its code is loaded at the first call alone.

    Raises:
        SpecError, TargetError, SearchError, ScheduleError, CompileError: an argument is
            wrong, or no kernel can be made, or not within the time limit.
        DatabaseError: a database is another program's or another version's file.
    """
    _check_schedule(schedule, spec)
    if isinstance(spec, Program):
        return spec.compile(
            target=target,
            threads=threads,
            db=db,
            time_limit=time_limit,
            tune=tune,
            load=load,
        )
    machine = chosen_target(target, schedule)
    goal = goal_of(spec, machine)
    _check(goal, schedule, tune)
    count = available_threads(thread_count(threads, schedule), load)
    searches = Searches(db, time_limit, tuning_time(tune, schedule), regret)
    driver = Driver(machine, count, searches, load)
    stages = driver.stages(goal, schedule)
    return driver.kernel(stages, parameters(stages.spec), goal.open)


def _check_schedule(schedule: Any, spec: Any) -> None:
    if schedule is not None and not isinstance(schedule, str):
        raise CompileError(
            f"'schedule' is {type(schedule).__name__}, not text",
            "give the text of a module, as Kernel.schedule has it",
        )
    if schedule is not None and not schedule.strip():
        raise CompileError("the schedule is empty", "give the text of a module")
    if schedule is not None and is_file_name(schedule):
        raise CompileError(
            f"the schedule is '{schedule}', the name of a file",
            f"give its text: Path('{schedule}').read_text()",
        )
    if schedule is not None and isinstance(spec, Program):
        raise CompileError(
            "a schedule is given, which is for one Spec, and a program",
            "give the Spec of one part, as Model.specs lists them",
        )


def _check_range(spec: Spec, tune: Any) -> None:
    """Refuse options that a Spec with run-time sizes does not support."""
    if tune == "learned":
        raise CompileError(
            f"{spec.kind.label} has a size that each call says, and the learned model "
            "chooses programs of settled sizes",
            "settle the size; or give tune=True, which measures",
        )
    if tune and len(spec.ranges) > 1:
        raise CompileError(
            f"{spec.kind.label} has two sizes that each call says, and tuning moves "
            "borders along one",
            "settle one, or leave tune out",
        )
    check_ranges(spec)


def _check(goal: OpenSpec, schedule: str | None, tune: Any) -> None:
    if schedule is not None and not goal.is_settled:
        raise CompileError(
            "a layout is left open, but a given schedule is for one",
            "name the layout, as Kernel.spec of the search's kernel has it",
        )
    spec = goal.spec
    for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True):
        if isinstance(tensor.dtype, Encoding):
            raise CompileError(
                f"operand '{operand.name}' has the dtype {tensor.dtype}, which "
                "arguments do not have: programs bring bytes to it themselves",
                f"give it the dtype {tensor.dtype.byte or tensor.dtype.part_of}",
            )
        if not tensor.level.is_main:
            raise CompileError(
                f"operand '{operand.name}' is in {tensor.level}, but the arguments of "
                "a kernel are in MEM",
                "leave the level out",
            )
    if spec.ranges:
        _check_range(spec, tune)

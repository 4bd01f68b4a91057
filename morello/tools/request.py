"""Arguments that every command of ``morello`` reads: target, Spec, schedule, kernel."""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator

from morello.compiler.compile import compile as compile_spec
from morello.compiler.kernel import Kernel
from morello.compiler.target_choice import chosen_target
from morello.errors import CompileError, ScheduleError, TargetError
from morello.machine import Target
from morello.search import Patience, Solution, Statistics
from morello.search.compiled import compiled, is_compiled
from morello.search.storage.overlay import NONE, Overlay, default_path, open_database
from morello.spec import OpenSpec, Spec, parse_open_spec, print_open_spec
from morello.tools.input_output import UsageError, input_name, read_input
from morello.tools.progress import Show, progress, search_text


@dataclasses.dataclass(frozen=True)
class Request:
    """A Spec to be compiled, as a command line gives it."""

    goal: OpenSpec
    target: Target
    schedule: str | None
    """The text of a module used instead of a search, which fills its holes."""
    db: str | None = None
    """The databases, as ``--db`` gives them."""
    source: str = ""
    """Name of the schedule's file, for locations in errors."""
    time_limit: float | None = None
    """Seconds after which the search stops."""

    @classmethod
    def read(
        cls,
        spec: str,
        target: str | None,
        schedule: str | None,
        db: str | None = None,
        time_limit: float | None = None,
    ) -> "Request":
        """The Spec and target written so, and the schedule in a file.

        Raises:
            UsageError: no such target, or a file that cannot be read.
            InputError: a file that holds no text.
            ScheduleError: the schedule is not a module.
            SpecError: the text of the Spec is refused.
        """
        text = None if schedule is None else read_input(schedule)
        source = input_name(schedule or "")
        with _naming(source if text is not None else ""):
            machine = tool_target(target, text)
        wanted = parse_open_spec(spec, machine.limits)
        return cls(wanted, machine, text, db, source, time_limit)

    @property
    def text(self) -> str:
        """The Spec in its shortest form."""
        return print_open_spec(self.goal, self.target.limits)

    @property
    def spec(self) -> Spec:
        """The Spec, where it leaves no layout open.

        Raises:
            UsageError: it leaves one open.
        """
        if self.goal.is_settled:
            return self.goal.spec
        raise UsageError(
            f"{self.text} leaves a layout open, but this needs a settled one",
            "name the layout; 'morello run' prints the one that the search chooses",
        )

    @contextlib.contextmanager
    def working(self) -> Iterator[Show]:
        """Show progress to a person who waits; name the schedule's file in errors."""
        verb = "compiling" if self.schedule is not None else "searching for"
        with (
            _naming(self.source if self.schedule is not None else ""),
            progress(f"{verb} {self.text}") as show,
        ):
            yield show

    def database(self) -> Overlay | None:
        """The databases that the command uses; None for none.

        Raises:
            DatabaseError: a file is not a database of this version.
        """
        return open_database(self.db, default=default_path)

    def compile(
        self, threads: int | None = 1, *, tune: bool | None = False, load: bool = True
    ) -> Kernel:
        """The kernel.

        Args:
            tune: None to use what was measured; False for the model's choice.
            load: as `morello.compile` takes it.

        Raises:
            MorelloError: what cannot be compiled, and why.
        """
        with self.working() as show:
            kernel = compile_spec(
                self.goal,
                target=self.target,
                threads=threads,
                schedule=self.schedule,
                db=self.database() or NONE,
                time_limit=self.patience(show),
                tune=tune,
                load=load,
            )
        self.tell(kernel.solution, *kernel.filled)
        return kernel

    def patience(self, show: Show) -> Patience:
        """When the search of the command stops: at the limit, and at Ctrl-C."""
        return patience_of(self.time_limit, show)

    def tell(self, *solutions: Solution | None) -> None:
        """Say on the standard error that a search was stopped, if one was."""
        if any(
            solution is not None and not solution.complete for solution in solutions
        ):
            sys.stderr.write(
                f"morello: the search for {self.text} was stopped; this is the best "
                "program that changes no layouts\n"
            )


def patience_of(time_limit: float | None, show: Show) -> Patience:
    """When a search stops: at a limit, and at Ctrl-C; until then it shows progress."""

    def watch(statistics: Statistics) -> None:
        if not statistics.tables and not is_compiled():
            show("compiling the search, once after installation")
            compiled().prepare()
        show(search_text(statistics))

    return Patience(time_limit, interruptible=True, watch=watch)


@contextlib.contextmanager
def _naming(source: str) -> Iterator[None]:
    """Name the schedule's file in errors: MLIR calls the text that it parses ``"-"``.

    Args:
        source: the file; empty if no schedule is given.
    """
    try:
        yield
    except (ScheduleError, CompileError) as error:
        if not source:
            raise
        what = error.what.replace('"-":', f"{source}:")
        raise type(error)(what, error.remedy) from error


def tool_target(name: str | None, schedule: str | None = None) -> Target:
    """The target that a command line means (`chosen_target`).

    Raises:
        UsageError: no such target, or its file cannot be read.
        TargetError: the same of what a schedule or the environment says.
    """
    try:
        return chosen_target(name, schedule)
    except TargetError as error:
        if name is None:
            raise
        raise UsageError(f"argument --target: {error.what}", error.remedy) from None

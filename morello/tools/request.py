"""What every command of ``morello`` begins with: target, Spec, schedule, kernel."""

import dataclasses

from morello.compiler import compile as compile_spec
from morello.errors import TargetError
from morello.kernel import Kernel
from morello.spec import Spec, parse_spec, print_spec
from morello.targets import Target, find_target
from morello.tools.input_output import UsageError, read_input
from morello.tools.progress import progress


@dataclasses.dataclass(frozen=True)
class Request:
    """A Spec to be compiled, as a command line gives it."""

    spec: Spec
    target: Target
    schedule: str | None
    """The text of a module to be used instead of a search."""

    @classmethod
    def read(cls, spec: str, target: str, schedule: str | None) -> "Request":
        """The Spec and target written so, and the schedule in a file.

        Raises:
            UsageError: no such target, or a file that cannot be read.
            InputError: a file that holds no text.
            SpecError: the text of the Spec is refused.
        """
        try:
            machine = find_target(target)
        except TargetError as error:
            raise UsageError(f"argument --target: {error.what}", error.remedy) from None
        wanted = parse_spec(spec, machine.limits)
        text = None if schedule is None else read_input(schedule)
        return cls(wanted, machine, text)

    @property
    def text(self) -> str:
        """The Spec in its shortest form."""
        return print_spec(self.spec, self.target.limits)

    @property
    def doing(self) -> str:
        """What is going on while it is compiled, for a person who waits."""
        verb = "compiling" if self.schedule is not None else "searching for"
        return f"{verb} {self.text}"

    def compile(self, threads: int = 1) -> Kernel:
        """The kernel.

        Raises:
            MorelloError: what cannot be compiled, and why.
        """
        with progress(self.doing):
            return compile_spec(
                self.spec, target=self.target, threads=threads, schedule=self.schedule
            )

"""A Spec or a model on a command line, compiled, called, and checked in one way."""

from collections.abc import Sequence
from typing import Protocol

from morello.compiler.kernel import Kernel
from morello.compiler.tuning.trial import Trial
from morello.errors import ArgumentError
from morello.spec import Array
from morello.tools.array_files import logical_shapes, read_operand
from morello.tools.common_flags import Searched
from morello.tools.request import Request
from morello.tools.table import target_text

Files = Sequence[tuple[str, str]]
"""Names of inputs, and the files of their elements: ``--input``."""


class Verdict(Protocol):
    """The result of a comparison with the definition; as text a sentence."""

    @property
    def holds(self) -> bool:
        """Whether the results are right."""


class Subject(Protocol):
    """The program of a command line."""

    kind: str
    """The name of the first row of a table."""
    schedule: str | None = None
    """The text of a given schedule."""

    @property
    def text(self) -> str:
        """The program in a few words."""

    def compile(self, threads: int, tune: bool | None) -> Kernel:
        """The kernel; `tune` as `morello.compile` takes it.

        Raises:
            MorelloError: it cannot be compiled, and why.
        """

    def read(self, files: Files) -> None:
        """Take inputs from files.

        Raises:
            ArgumentError: a name that no input has, or twice.
            InputError, UsageError: a file that does not fit or cannot be read.
        """

    def arguments(self, kernel: Kernel) -> list[Array]:
        """New arrays for each argument of a call, the outputs last."""

    def judge(self, arguments: Sequence[Array]) -> Verdict:
        """Compare the outputs that a call has left with the definition."""

    def outputs(self, arguments: Sequence[Array]) -> dict[str, Array]:
        """The outputs by name, in logical order."""

    @property
    def sources(self) -> str:
        """The origin of the inputs."""

    def describe(self) -> str:
        """Lines before the table."""

    def rows(self, kernel: Kernel, cpu: str = "") -> list[tuple[str, str]]:
        """The program and what computes it, for a table.

        Args:
            cpu: this machine's processor, where it is told.
        """
        machine = target_text(kernel.target) + (f" ({cpu})" if cpu else "")
        rows = [(self.kind, f"{kernel.text} on {machine}")]
        if len(kernel.specs) != 1 or kernel.held is not None:
            rows.append(("parts", str(len(kernel.specs))))
        named = [f"{refusal.op} at {refusal.place}" for refusal in kernel.fallback]
        if named:
            rows.append(("fallback", ", ".join(dict.fromkeys(named))))
        return rows


class SpecSubject(Subject):
    """A Spec, on random inputs unless files give them."""

    kind = "spec"

    def __init__(self, options: Searched, seed: int) -> None:
        self.request = Request.read(
            options.spec,
            options.target,
            options.schedule,
            options.db,
            options.time_limit,
        )
        self.schedule = self.request.schedule
        self._seed = seed
        self._files: dict[str, str] = {}
        self._inputs: dict[int, Array] = {}
        self._trial: Trial | None = None

    @property
    def text(self) -> str:
        """The Spec in its shortest form."""
        return self.request.text

    @property
    def trial(self) -> Trial:
        """The inputs; they are drawn at the first use."""
        if self._trial is None:
            self._trial = Trial.make(self.request.goal.spec, self._seed, self._inputs)
        return self._trial

    def compile(self, threads: int, tune: bool | None) -> Kernel:
        """The kernel."""
        trial = self.trial  # sizes beyond the machine's memory are not searched for
        kernel = self.request.compile(threads, tune=tune)
        self._trial = trial.settled(kernel.spec)
        return kernel

    def read(self, files: Files) -> None:
        """Take inputs from files."""
        spec = self.request.goal.spec
        readable = {o.name: i for i, o in enumerate(spec.kind.operands) if o.is_read}
        for name, path in files:
            if name not in readable:
                names = ", ".join(readable) or "none"
                raise ArgumentError(
                    f"--input {name}={path}: {spec.kind.label} reads no operand "
                    f"'{name}'",
                    f"it reads: {names}",
                )
            if name in self._files:
                raise ArgumentError(f"--input {name}={path}: '{name}' is given twice")
            self._files[name] = path
            self._inputs[readable[name]] = read_operand(path, spec, readable[name])

    def arguments(self, kernel: Kernel) -> list[Array]:
        """New arrays for each operand, as the kernel takes them."""
        return self.trial.arguments()

    def judge(self, arguments: Sequence[Array]) -> Verdict:
        """Compare the outputs with the definition."""
        return self.trial.judge(arguments)

    def outputs(self, arguments: Sequence[Array]) -> dict[str, Array]:
        """The outputs; without a batch of 1, unless an input came so."""
        spec = self.trial.spec
        is_full = any(array.shape == spec.shape(i) for i, array in self._inputs.items())
        written = zip(spec.kind.written, self.trial.outputs(arguments), strict=True)
        return {
            spec.kind.operands[out].name: array.reshape(
                logical_shapes(spec, out)[0 if is_full else -1]
            )
            for out, array in written
        }

    @property
    def sources(self) -> str:
        """The file of each input, or the seed."""
        kind = self.request.goal.spec.kind
        names = [operand.name for operand in kind.operands if operand.is_read]
        return sources_text(names, self._files, self._seed)

    def describe(self) -> str:
        """Nothing: the table has the Spec."""
        return ""


def sources_text(names: Sequence[str], files: dict[str, str], seed: int) -> str:
    """The origin of each input: a file, or random elements."""
    return (
        ", ".join(
            f"{name} from {files[name]}"
            if name in files
            else f"{name} random (seed {seed})"
            for name in names
        )
        or "none"
    )

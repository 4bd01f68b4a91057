"""The computation that a caller asks for, in each form in which it is given."""

import abc
from typing import TYPE_CHECKING, Any

from morello.errors import CompileError
from morello.machine import Target
from morello.spec import OpenSpec, Spec, parse_open_spec

if TYPE_CHECKING:
    from morello.compiler.kernel import Kernel

TUNING_SECONDS = 5.0
"""How long tuning a goal takes where no time is given."""


class Program(abc.ABC):
    """A program that is compiled otherwise than as one given Spec: a model, a traced
    function. `morello.compile` takes it."""

    @abc.abstractmethod
    def compile(
        self,
        *,
        target: str | Target | None = None,
        threads: int | None = None,
        db: Any = None,
        time_limit: Any = None,
        tune: Any = None,
        load: bool = True,
    ) -> "Kernel":
        """The kernel; the arguments are those of `morello.compile`.

        Raises:
            MorelloError: it cannot be compiled, and why.
        """


def goal_of(spec: Any, target: Target) -> OpenSpec:
    """The goal that a caller gives as text, as a Spec, or with layouts left open.

    Args:
        spec: it.
        target: whose limits hold where a text gives none.

    Raises:
        CompileError: it is something else.
        SpecError: it is text, and no Spec.
    """
    match spec:
        case OpenSpec():
            return spec
        case Spec():
            return OpenSpec(spec)
        case str():
            return parse_open_spec(spec, target.limits)
        case _:
            raise CompileError(
                f"'spec' is {type(spec).__name__}, not a Spec or its text",
                "write for example 'matmul:512x512x512:f32'; or give what "
                "morello.from_mlir, from_onnx or trace returns",
            )

"""What is to be computed, however it is given."""

from typing import Any

from morello.errors import CompileError
from morello.machine import Target
from morello.spec import OpenSpec, Spec, parse_open_spec


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
                "write for example 'matmul:512x512x512:f32'",
            )

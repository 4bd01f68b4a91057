"""Passes as flags: ``--canonicalize --pass='options'``, as mlir-opt takes them.

They run in the order of the command line, on the input's outermost op. A pass that runs
on another op is nested in a pipeline on that op, which upstream calls implicit nesting.
"""

from collections.abc import Sequence

from morello.errors import PipelineError
from morello.mlir import ir
from morello.passes.pipelines.pass_flag import PassFlag
from morello.passes.pipelines.pipeline import RESTRICTED, UNKNOWN, closest, refusal_of
from morello.passes.registry import PASSES


def pipeline_text(
    flags: Sequence[PassFlag], anchor: str, known_flags: Sequence[str]
) -> str:
    """The pipeline that flags stand for.

    Args:
        flags: in order.
        anchor: the op that it runs on.
        known_flags: the names of other flags, for spelling hints.

    Raises:
        PipelineError: a flag is the name of no pass.
    """
    with ir.Context():
        elements = [
            flag.element if flag.name in PASSES else _nested(flag, anchor, known_flags)
            for flag in flags
        ]
    return f"{anchor}({','.join(elements)})"


def _nested(flag: PassFlag, anchor: str, known_flags: Sequence[str]) -> str:
    reason = refusal_of(anchor, flag.element)
    if UNKNOWN in reason:
        raise PipelineError(
            f"unknown flag or pass: {flag.spelled}", closest(flag.name, known_flags)
        )
    restricted = RESTRICTED.search(reason)
    return f"{restricted[1]}({flag.element})" if restricted else flag.element

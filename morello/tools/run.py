"""``morello run``: run a Spec's kernel once and check it against the definition."""

import sys
import time

from morello.compiler.threads import thread_count
from morello.compiler.tuning.trial import Trial
from morello.errors import ArgumentError, MorelloError
from morello.spec import Array, Spec
from morello.tools.array_files import logical_shapes, read_operand, write_operands
from morello.tools.commands import RunOptions
from morello.tools.input_output import check_output, write_output
from morello.tools.model_files import is_model
from morello.tools.request import Request
from morello.tools.table import (
    cost_text,
    made_from,
    table,
    target_text,
    threads_text,
    time_text,
)


def main(options: RunOptions) -> int:
    """Run the command.

    Returns:
        0.

    Raises:
        MorelloError: a refused argument; or an output unlike the definition's, which
            is written nowhere.
    """
    if is_model(options.spec, options.fallback):
        # Programs of MLIR need much that Specs do not.
        from morello.tools.models import run_model

        return run_model(options)
    request = Request.read(
        options.spec, options.target, options.schedule, options.db, options.time_limit
    )
    given = _read_inputs(request.goal.spec, options.input)
    if options.output is not None:
        check_output(options.output)
    trial = Trial.make(request.goal.spec, options.seed, given)
    allowed = thread_count(options.threads, request.schedule)
    kernel = request.compile(allowed, tune=False if options.untuned else None)
    trial = trial.settled(kernel.spec)
    arguments = trial.arguments()
    start = time.perf_counter()
    kernel(*arguments)
    elapsed = time.perf_counter() - start
    verdict = trial.judge(arguments)
    if not verdict.holds:
        raise MorelloError(
            f"the kernel of {request.text} is wrong: {verdict}",
            "please report it with the schedule that 'morello emit' prints",
        )
    if options.output is not None:
        write_operands(options.output, _outputs(trial, given, arguments))
    summary = table(
        ("spec", f"{kernel.text} on {target_text(kernel.target)}"),
        ("inputs", _sources(request.goal.spec, options)),
        ("threads", threads_text(allowed, kernel.threads)),
        ("kernel", made_from(kernel)),
        ("cost", cost_text(kernel.cost())),
        ("call", f"{time_text(elapsed)} (the first one, cold)"),
        ("result", str(verdict)),
    )
    _print(summary, options.output == "-")
    return 0


def _read_inputs(
    spec: Spec, assignments: tuple[tuple[str, str], ...]
) -> dict[int, Array]:
    """The arrays of ``--input``, by the number of the operand.

    Raises:
        ArgumentError: an operand that the Spec has not, or does not read, or twice.
        InputError, UsageError: a file that does not fit or cannot be read.
    """
    readable = {o.name: i for i, o in enumerate(spec.kind.operands) if o.is_read}
    found: dict[int, Array] = {}
    for name, path in assignments:
        if name not in readable:
            names = ", ".join(readable) or "none"
            raise ArgumentError(
                f"--input {name}={path}: {spec.kind.label} reads no operand '{name}'",
                f"it reads: {names}",
            )
        if readable[name] in found:
            raise ArgumentError(f"--input {name}={path}: '{name}' is given twice")
        found[readable[name]] = read_operand(path, spec, readable[name])
    return found


def _outputs(
    trial: Trial, given: dict[int, Array], arguments: list[Array]
) -> dict[str, Array]:
    """The outputs in logical order; without a batch of 1, unless an input came so."""
    spec = trial.spec
    full = any(array.shape == spec.shape(i) for i, array in given.items())
    return {
        spec.kind.operands[out].name: array.reshape(
            logical_shapes(spec, out)[0 if full else -1]
        )
        for out, array in zip(spec.kind.written, trial.outputs(arguments), strict=True)
    }


def _sources(spec: Spec, options: RunOptions) -> str:
    files = dict(options.input)
    names = [o.name for o in spec.kind.operands if o.is_read]
    if not names:
        return "none"
    return ", ".join(
        f"{name} from {files[name]}"
        if name in files
        else f"{name} random (seed {options.seed})"
        for name in names
    )


def _print(text: str, output_taken: bool) -> None:
    if output_taken:
        sys.stderr.write(text)
    else:
        write_output("-", text)

"""``morello tune``: time programs of Specs, and keep the fastest."""

import json
import sys

from morello.compiler.threads import thread_count
from morello.compiler.tuning import Plan, measure
from morello.errors import MorelloError
from morello.machine import Target
from morello.runtime.openmp import load_openmp
from morello.search import best_settled
from morello.search.queries.best_program import parallel_goal, watch_of
from morello.search.queries.measured import Measured
from morello.search.storage.overlay import Overlay
from morello.spec import OpenSpec, Spec
from morello.tools.braces import expand_braces
from morello.tools.input_output import UsageError, write_output
from morello.tools.measured_text import measured_data, measured_lines, measured_summary
from morello.tools.measuring_commands import TuneOptions
from morello.tools.model_files import SUFFIXES
from morello.tools.progress import progress
from morello.tools.request import Request
from morello.tools.table import target_text


def main(options: TuneOptions) -> int:
    """Run the command.

    Returns:
        0; or 1 if a Spec could not be tuned.

    Raises:
        MorelloError: an argument is refused; nothing was begun.
    """
    if not options.specs:
        raise UsageError("no SPEC is given", "see morello tune --help")
    threads = thread_count(options.threads)
    if threads > 1 and not load_openmp():
        raise UsageError(
            "no OpenMP runtime was found, which calls with several threads need",
            "give --threads 1, or install the package intel-openmp",
        )
    texts = [text for family in options.specs for text in expand_braces(family)]
    requests = [
        request for text in dict.fromkeys(texts) for request in _requests(text, options)
    ]
    database = requests[0].database()
    _check_writable(database)
    failed = False
    for request in requests:
        try:
            measured = _tuned(request, threads, database, options)
        except MorelloError as error:
            sys.stderr.write(f"morello: error: {request.text}: {error}\n")
            failed = True
            continue
        write_output("-", _text(request, threads, measured, options.json) + "\n")
    return int(failed)


def _requests(text: str, options: TuneOptions) -> list[Request]:
    """A Spec, or each distinct Spec of a model."""
    if not text.endswith(SUFFIXES):
        return [Request.read(text, options.target, None, options.db)]
    # Programs of MLIR need much that Specs do not.
    from morello.tools.model_subject import part_requests, read_model

    parts = part_requests(read_model(text), options.target, options.db)
    return list({(one.goal, one.target): one for one in parts}.values())


def _text(request: Request, threads: int, measured: Measured, as_json: bool) -> str:
    """Print the measurements of a Spec."""
    if as_json:
        return json.dumps({"spec": request.text, **measured_data(measured)})
    many = f"{threads} thread{'s' if threads > 1 else ''}"
    head = f"{request.text} on {target_text(request.target)}, {many}"
    return "\n".join((head, *measured_lines(measured), measured_summary(measured)))


def _check_writable(database: Overlay | None) -> None:
    """Refuse to measure what cannot be kept.

    Raises:
        MorelloError: there is no database that can be written.
    """
    if database is None or database.top is None:
        raise MorelloError(
            "there is no database that can be written, to keep what is measured",
            "give its path with --db",
        )


def _tuned(
    request: Request, threads: int, database: Overlay | None, options: TuneOptions
) -> Measured:
    """Measure a Spec, or read its earlier measurements.

    Raises:
        MorelloError: it has no program, or it cannot be timed.
    """
    goal, target = parallel_goal(request.goal.spec, request.target, threads)
    with progress(f"tuning {request.text}") as show:
        patience = request.patience(show)
        goal = _settled(goal, request.goal, target, database)
        plan = Plan(options.seconds, options.candidates, options.priority)
        return measure(
            goal,
            target,
            database,
            plan,
            again=options.again,
            watch=watch_of(patience),
            show=show,
        )


def _settled(
    goal: Spec, wanted: OpenSpec, target: Target, database: Overlay | None
) -> Spec:
    """The goal with the layouts that the search chooses for open ones."""
    if wanted.is_settled:
        return goal
    return best_settled(OpenSpec(goal, wanted.open), target, database)[0]

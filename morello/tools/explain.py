"""``morello explain``: why a Spec's program is as it is, as text, HTML or JSON."""

import json
import math

from morello.explain import (
    Explanation,
    as_data,
    as_page,
    as_text,
    explain,
)
from morello.explain import Request as Wanted
from morello.explain.words import Clock
from morello.search import Solver
from morello.search.counting import count_programs
from morello.tools.commands import ExplainOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.progress import progress
from morello.tools.request import Request


def main(options: ExplainOptions) -> int:
    """Do what the command line says.

    Returns:
        0.

    Raises:
        MorelloError: what is refused; then nothing is written.
    """
    if options.json and options.html == "-":
        raise UsageError(
            "--json and --html - both write to the standard output",
            "give --html a file",
        )
    if options.html is not None:
        check_output(options.html)
    request = Request.read(options.spec, options.target, None, options.db)
    with request.working():
        found = explain(
            request.spec, Solver(request.target, request.database()), _wanted(options)
        )
    programs = None
    if options.count:
        with progress(f"counting the programs of {request.text}"):
            programs = count_programs(request.spec, request.target)
    _check_nodes(options.at, found)
    clock = Clock(options.ghz)
    if options.html is not None:
        write_output(options.html, as_page(found, clock, options.top))
    if options.json:
        data = as_data(found, options.ghz, options.top)
        if programs is not None:
            data["programs_log10"] = programs * math.log10(2)
        write_output("-", json.dumps(data) + "\n")
    if options.html is None and not options.json:
        text = as_text(found, clock, options.top)
        if programs is not None:
            text = f"{text}\nprograms in the space: {count_text(programs)}\n"
        write_output("-", text)
    elif programs is not None and not options.json and options.html != "-":
        write_output("-", f"programs in the space: {count_text(programs)}\n")
    return 0


def count_text(binary_logarithm: float) -> str:
    """A number of programs: digit by digit up to a billion, else a power of ten."""
    power = binary_logarithm * math.log10(2)
    if power < 9:
        return f"{round(2**binary_logarithm):,}"
    if power < 1e6:
        return f"10^{power:,.1f}"
    return f"10^{power:,.0f}"


def _wanted(options: ExplainOptions) -> Wanted:
    depth = options.depth
    if depth is None and options.html is None:
        depth = 0
    return Wanted(depth, frozenset(options.at))


def _check_nodes(at: tuple[int, ...], found: Explanation) -> None:
    count = sum(1 for _ in found.root.walk())
    for number in at:
        if number >= count:
            raise UsageError(
                f"argument --at: the program has no node {number}",
                f"its nodes are 0 to {count - 1}",
            )

"""``morello run``: call a kernel once and check its results against the definition."""

import sys
import time

from morello.compiler.threads import thread_count
from morello.errors import MorelloError
from morello.tools.array_files import write_operands
from morello.tools.commands import RunOptions
from morello.tools.input_output import check_output, write_output
from morello.tools.subject_choice import subject_of
from morello.tools.table import cost_text, origin_text, table, threads_text, time_text


def main(options: RunOptions) -> int:
    """Run the command.

    Raises:
        MorelloError: a refused argument; or an output unlike the definition's, which
            is written nowhere.
    """
    subject = subject_of(options, options.seed)
    subject.read(options.input)
    if options.output is not None:
        check_output(options.output)
    allowed = thread_count(options.threads, subject.schedule)
    kernel = subject.compile(allowed, False if options.untuned else None)
    arguments = subject.arguments(kernel)
    start = time.perf_counter()
    kernel(*arguments)
    elapsed = time.perf_counter() - start
    verdict = subject.judge(arguments)
    if not verdict.holds:
        raise MorelloError(
            f"the kernel of {subject.text} is wrong: {verdict}",
            "please report it with the schedule that 'morello emit' prints",
        )
    if options.output is not None:
        write_operands(options.output, subject.outputs(arguments))
    summary = table(
        *subject.rows(kernel),
        ("inputs", subject.sources),
        ("threads", threads_text(allowed, kernel.threads)),
        ("kernel", origin_text(kernel)),
        ("cost", cost_text(kernel.cost())),
        ("call", f"{time_text(elapsed)} (the first one, cold)"),
        ("result", str(verdict)),
    )
    text = subject.describe() + summary
    if options.output == "-":
        sys.stderr.write(text)
    else:
        write_output("-", text)
    return 0

"""Progress of a test run, and the names of failed tests, while it runs.

A line every half a minute says how many tests have ended; a failure is named as soon as
it is known. Both are whole lines, so that a log without a terminal shows them as well,
and both come from the process that collects the reports, so that xdist's workers do.
"""

import time

import pytest

SECONDS = 30.0
"""Between two lines of progress, at least."""


class Progress:
    """A plugin for the process that prints: `pytest_configure` of the conftest adds it.

    ``seconds`` lie between two lines of progress.
    """

    def __init__(self, config: pytest.Config, seconds: float = SECONDS) -> None:
        self.config = config
        self.seconds = seconds
        self.total = 0
        self.ended = 0
        self.failed = 0
        self.begin = self.last = time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without workers."""
        self.total = max(self.total, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Each worker collects every test."""
        self.total = len(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The report of a test's setup, its call or its teardown."""
        if report.failed:
            self.failed += 1
            self._write(f"FAILED {report.nodeid}{_stage(report)}: {_reason(report)}")
        if report.when == "teardown":
            self.ended += 1
            if time.monotonic() - self.last >= self.seconds:
                self.last = time.monotonic()
                self._write(self._line())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported."""
        if report.failed:
            self._write(f"FAILED {report.nodeid} (collection): {_reason(report)}")

    def _line(self) -> str:
        percent = 100 * self.ended // self.total if self.total else 0
        minutes, seconds = divmod(int(time.monotonic() - self.begin), 60)
        return (
            f"{percent} % after {minutes}:{seconds:02}: {self.ended} of {self.total}"
            f" tests, {self.failed} failed"
        )

    def _write(self, line: str) -> None:
        writer = self.config.get_terminal_writer()
        if writer.width_of_current_line:  # after the dots of passed tests
            writer.line()
        writer.line(line)
        writer.flush()


def _stage(report: pytest.TestReport) -> str:
    return "" if report.when == "call" else f" ({report.when})"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The first line of what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).strip().splitlines()
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return next(iter([*marked, *lines]), "no reason is given")

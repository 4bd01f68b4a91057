"""The parent's side of ``morello-opt``: start children, print what they report."""

import sys
from collections.abc import Sequence

from morello.tools.opt import events
from morello.tools.opt.containment import Ending, Send, run_contained
from morello.tools.opt.diagnostics import Diagnostic, Place, render
from morello.tools.opt.expectations import verify
from morello.tools.opt.flags import Flags
from morello.tools.opt.reproducer import write_reproducer
from morello.tools.opt.split_input import Chunk, near_misses, split_input


class Session:
    """One input and the results of its chunks.

    Args:
        flags: the command line.
        name: of the input, in diagnostics.
        text: of the input.
    """

    def __init__(self, flags: Flags, name: str, text: str | bytes) -> None:
        self.flags = flags
        self.name = name
        self.lines = Chunk(text).lines
        self.chunks = split_input(text, flags.split_input_file)
        self.near_misses = near_misses(text, flags.split_input_file, name)
        self.outputs: dict[int, bytes | None] = {}
        self.said: dict[int, list[Diagnostic]] = {}
        self.bad_usage = False
        self.stage = ""
        self.current = 0

    def run(self) -> bool:
        """Do all; whether it went well. Errors have been printed then.

        A crash ends the chunk that it happens in; the next child goes on after it.
        """
        for warning in self.near_misses:
            sys.stderr.write(render(warning, self.name, self.lines))
        while len(self.outputs) < len(self.chunks) and not self.bad_usage:
            self.current = len(self.outputs)
            left = list(enumerate(self.chunks))[self.current :]
            ending = self.child(left)
            if ending.crash and not self.bad_usage:
                self.crashed(ending)
            sys.stdout.flush()
        if self.bad_usage:
            return False
        if self.flags.verify_diagnostics:
            return self.verified()
        return None not in self.outputs.values()

    @property
    def output(self) -> bytes:
        """Output of the chunks that succeeded; empty for the others."""
        marker = f"{self.flags.output_split_marker}\n".encode()
        return marker.join(output or b"" for output in self.outputs.values())

    def child(self, left: Sequence[tuple[int, Chunk]]) -> Ending:
        """Run the chunks that are left in a child process."""

        def job(send: Send) -> None:
            # MLIR is imported in the child alone.
            from morello.tools.opt.worker import work

            work(self.flags, self.name, left, False, send)

        ending = run_contained(job, self.receive)
        if ending.stdout:
            self.native_output(ending)
        return ending

    def native_output(self, ending: Ending) -> None:
        """Write the text that passes printed: on the standard output if all
        succeeded."""
        failed = bool(ending.crash) or (
            None in self.outputs.values() and not self.flags.verify_diagnostics
        )
        stream = sys.stderr if failed else sys.stdout
        stream.write(ending.stdout.decode("utf-8", "replace"))
        stream.flush()

    def receive(self, event: object) -> None:
        """Handle one event that the child has sent."""
        match event:
            case events.Entered(stage):
                self.stage = stage
            case events.Said(diagnostic):
                self.say(diagnostic)
            case events.Finished(index, output):
                self.outputs[index] = output
                self.current = index + 1
            case events.BadUsage(message):
                print(message, file=sys.stderr)
                self.bad_usage = True
            case _:
                raise TypeError(f"unknown event {event!r}")

    def say(self, diagnostic: Diagnostic) -> None:
        """Print a diagnostic, or keep it for ``--verify-diagnostics``."""
        if self.flags.verify_diagnostics:
            self.said.setdefault(self.current, []).append(diagnostic)
        else:
            sys.stderr.write(render(diagnostic, self.name, self.lines))

    def crashed(self, ending: Ending) -> None:
        """Report the crash of the current chunk and leave a reproducer."""
        chunk = self.chunks[self.current]
        stage, words = self.diagnose(self.current, chunk)
        # What crashes before the first chunk would crash before the others too.
        early = self.stage == events.CHECKING
        for index in range(
            self.current, len(self.chunks) if early else self.current + 1
        ):
            self.outputs[index] = None
        message = f"internal error in {stage} ({ending.crash})"
        happened = "\n".join(filter(None, (message, words, ending.trace)))
        place = write_reproducer(self.flags, self.name, chunk.source, happened)
        remedy = (
            f"this is a defect, not your input's fault; '{place}' reproduces it"
            if place
            else "this is a defect; no file that reproduces it could be written "
            f"to '{self.flags.crash_reproducer or 'the working directory'}'"
        )
        if words:
            message += f": {words}"
        self.say(Diagnostic("error", Place(self.name), f"{message}; {remedy}"))

    def diagnose(self, index: int, chunk: Chunk) -> tuple[str, str]:
        """Find the stage that crashed, and LLVM's last words.

        A crash among upstream's passes is repeated with every pass announced, so that
        runs which do not crash have no announcements in their pipelines.
        """
        if self.stage != events.RUNNING:
            return self.stage, ""
        stages = [self.stage]

        def job(send: Send) -> None:
            from morello.tools.opt.worker import work

            work(self.flags, self.name, [(index, chunk)], True, send)

        def receive(event: object) -> None:
            if isinstance(event, events.Entered):
                stages.append(event.stage)

        ending = run_contained(job, receive, keep_stderr=True)
        if not ending.crash:
            return f"{self.stage}; a second run did not crash", ""
        words = ending.stderr.decode("utf-8", "replace").strip().splitlines()
        fatal = [line for line in words if line.startswith("LLVM ERROR")]
        return stages[-1], fatal[-1] if fatal else ""

    def verified(self) -> bool:
        """Whether each chunk produced what its comments expect; prints if not."""
        mismatches: list[Diagnostic] = []
        for index, chunk in enumerate(self.chunks):
            mismatches += verify(
                chunk.lines,
                chunk.first_line,
                self.name,
                self.said.get(index, []),
                self.flags.verify_diagnostics == "only-expected",
            )
        for mismatch in mismatches:
            sys.stderr.write(render(mismatch, self.name, self.lines))
        return not mismatches

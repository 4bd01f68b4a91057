"""A pipeline run pass by pass, so that somebody can watch each run of each pass.

Upstream's own instrumentation prints the IR around every pass or around none, and only
in one form. `resolve` takes a pipeline apart; `run` runs it on an op as upstream would:
passes of a nested pipeline on one op after the other. Passes that a pass of upstream
runs itself, as `inline` does, are part of it: nobody is told of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from morello.mlir import PassManager, ir
from morello.passes.base import Pass
from morello.passes.pipelines import options
from morello.passes.pipelines.pipeline import ANY, Pipeline, run_ours
from morello.passes.pipelines.stderr_capture import captured_stderr
from morello.passes.pipelines.text import Element, PipelineTextError, parse_elements


@dataclass(frozen=True)
class Step:
    """A pass.

    Args:
        name: of its class, as upstream prints it: ``CSEPass``.
        argument: its name in a pipeline.
        text: the same with all its options.
        ours: the pass, if it is one of Morello.
    """

    name: str
    argument: str
    text: str
    ours: Pass | None = None


@dataclass(frozen=True)
class Nest:
    """A pipeline that runs on some of the ops within an op.

    Args:
        anchor: the name of those ops, or `ANY` for all that are isolated.
        steps: what runs on each.
    """

    anchor: str
    steps: "tuple[Step | Nest, ...]"


Steps = tuple[Step | Nest, ...]

NEST_NAME = "mlir::detail::OpToOpPassAdaptor"
"""Name that upstream gives the pass that runs nested pipelines."""


class Watcher(Protocol):
    """Told of each run of a pass."""

    def before(self, name: str, step: Step | None, op: ir.Operation) -> None:
        """A pass is about to run on an op; no step for nested pipelines together."""

    def after(
        self, name: str, step: Step | None, op: ir.Operation, failed: bool
    ) -> None:
        """It has run."""


def resolve(pipeline: Pipeline) -> Steps:
    """The steps of a pipeline, in the current context.

    Named pipelines of upstream are replaced by what they stand for.
    """
    return tuple(_resolved(pipeline.elements, pipeline.anchor))


def pretty(steps: Steps, anchor: str) -> str:
    """A pipeline as ``--dump-pass-pipeline`` prints it, without the last new line."""
    return f"Pass Manager with {len(steps)} passes:\n{_lines(steps, anchor, '')}"


def run(
    steps: Steps,
    op: ir.Operation,
    watchers: Sequence[Watcher],
    *,
    verify: bool,
    announce: Callable[[str], None],
) -> bool:
    """Run steps on an op; whether all succeeded. Errors are diagnostics.

    Args:
        steps: what to run.
        op: on what.
        watchers: told of each pass.
        verify: check the op after each pass.
        announce: told of each pass before it runs.
    """
    return _Runner(watchers, verify, announce).run(steps, op)


def _resolved(elements: Sequence[Pass | Element], anchor: str) -> Iterator[Step | Nest]:
    for element in elements:
        if isinstance(element, Pass):
            whole = options.render(element, whole=True)
            yield Step(type(element).__name__, element.name, whole, element)
        elif element.nested is not None:
            steps = tuple(_resolved(element.nested, element.name))
            yield Nest(element.name, steps)
        else:
            yield from _upstream(element, anchor)


def _upstream(leaf: Element, anchor: str) -> Iterator[Step | Nest]:
    """A pass of upstream with all its options, or what a named pipeline stands for."""
    printed = str(PassManager.parse(f"{anchor}({leaf})"))
    inside = printed[len(anchor) + 1 : -1]
    try:
        elements = parse_elements(inside)
    except PipelineTextError:
        elements = ()
    if len(elements) == 1 and elements[0].name == leaf.name:
        yield Step(_class_name(str(leaf), anchor) or leaf.name, leaf.name, inside)
    elif elements and "unknown<" not in inside:
        yield from _resolved(elements, anchor)
    else:  # not printed as it is read: it is one step
        yield Step(leaf.name, leaf.name, str(leaf))


_HEADER = re.compile(r"IR Dump Before (\S+): ")
_NAMED = re.compile(r"pass '([^']+)'")


def _class_name(text: str, anchor: str) -> str:
    """Find upstream's class name of a pass; upstream prints it when it runs, or
    must not."""
    for op, source in (("builtin.module", "module {}"), ("func.func", _FUNCTION)):
        if anchor not in (op, ANY, "builtin.module"):
            continue
        holder = ir.Operation.parse(source)
        with captured_stderr() as said:
            try:
                manager = PassManager.parse(f"{op}({text})")
                manager.enable_ir_printing(print_before_all=True, print_after_all=False)
                manager.run(holder.operation)
            except (ValueError, ir.MLIRError) as error:
                named = _NAMED.search(str(error))
                if named:
                    return named[1]
        header = _HEADER.search(said.text())
        if header:
            return header[1]
    return ""


_FUNCTION = "func.func private @f()"


def _lines(steps: Steps, anchor: str, indent: str) -> str:
    inner = f"{indent}  "
    inside = ",\n".join(
        _lines(step.steps, step.anchor, inner)
        if isinstance(step, Nest)
        else inner + step.text
        for step in steps
    )
    return f"{indent}{anchor}(\n{inside}\n{indent})"


class _Runner:
    """Runs steps and tells the watchers."""

    def __init__(
        self, watchers: Sequence[Watcher], verify: bool, announce: Callable[[str], None]
    ) -> None:
        self.watchers = watchers
        self.verify = verify
        self.announce = announce

    def run(self, steps: Steps, op: ir.Operation) -> bool:
        for group in _groups(steps):
            match group:
                case Step() as step:
                    ran = self.told(step.name, step, op, self.runs(step))
                case _:
                    ran = self.told(NEST_NAME, None, op, self.nested(group))
            if not ran:
                return False
        return True

    def told(
        self,
        name: str,
        step: Step | None,
        op: ir.Operation,
        work: Callable[[ir.Operation], bool],
    ) -> bool:
        for watcher in self.watchers:
            watcher.before(name, step, op)
        ran = work(op)
        for watcher in self.watchers:
            watcher.after(name, step, op, not ran)
        return ran

    def runs(self, step: Step) -> Callable[[ir.Operation], bool]:
        def work(op: ir.Operation) -> bool:
            self.announce(step.text)
            if step.ours is not None:
                ran = run_ours(step.ours, op) and self.verified(op)
            else:
                ran = self.ran_upstream(step, op)
            self.announce("")
            return ran

        return work

    def ran_upstream(self, step: Step, op: ir.Operation) -> bool:
        manager = PassManager(op.name)
        manager.add(step.text)
        manager.enable_verifier(self.verify)
        try:
            manager.run(op)
        except ir.MLIRError:
            return False  # what is wrong has been reported
        return True

    def verified(self, op: ir.Operation) -> bool:
        try:
            return not self.verify or bool(op.verify())
        except ir.MLIRError:
            return False

    def nested(self, nests: Sequence[Nest]) -> Callable[[ir.Operation], bool]:
        def work(op: ir.Operation) -> bool:
            within = [
                inner.operation
                for region in op.regions
                for block in region.blocks
                for inner in block.operations
            ]
            for inner in within:
                for nest in nests:
                    if nest.anchor in (ANY, inner.name) and not self.run(
                        nest.steps, inner
                    ):
                        return False
            return True

        return work


def _groups(steps: Steps) -> Iterator[Step | list[Nest]]:
    """Single steps, and neighbouring nested pipelines together, as upstream has them.

    Those on one op become one pipeline; one on any op stays apart.
    """
    held: list[Nest] = []
    for step in steps:
        if isinstance(step, Nest):
            if held and ANY in (step.anchor, held[0].anchor):
                yield held
                held = []
            same = next((n for n in held if n.anchor == step.anchor), None)
            if same is not None:
                held[held.index(same)] = Nest(same.anchor, same.steps + step.steps)
            else:
                held.append(step)
            continue
        if held:
            yield held
            held = []
        yield step
    if held:
        yield held

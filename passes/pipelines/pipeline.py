"""From the text of a pipeline to one pass manager that mixes our passes and upstream's.

Read `Pipeline` first. Upstream passes may be nested under any op. A pass of Morello
rewrites the whole module, so it stands directly in ``builtin.module(…)`` or
``any(…)``; nested elsewhere it is refused (running it by a walk would let it see ops
outside its anchor).
"""

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from morello.errors import MorelloError
from morello.mlir import PassManager, ir
from morello.passes.base import Bundle, Pass, PassFailure
from morello.passes.pipelines import options
from morello.passes.pipelines.stderr_capture import captured_stderr
from morello.passes.pipelines.text import (
    Element,
    PipelineTextError,
    parse_elements,
    parse_options,
)
from morello.passes.pipelines.upstream_names import UPSTREAM_NAMES
from morello.passes.registry import PASSES, Registry

Announce = Callable[[str], None]
"""Called with the text of each pass before it runs."""

MODULE = "builtin.module"
"""The op that a pipeline is anchored on, if nobody says otherwise."""

ANY = "any"
"""Anchor of a pipeline that runs on any op."""


@dataclass(frozen=True)
class Pipeline:
    """A pipeline whose grammar, Morello passes and their options are checked.

    Args:
        text: as it was given, for errors.
        elements: in order; `Pass` for one of ours, `Element` for upstream's. A bundle
            has been replaced by what it stands for.
        anchor: the op that it runs on, or `ANY`.
    """

    text: str
    elements: tuple[Pass | Element, ...]
    anchor: str = MODULE

    @classmethod
    def parse(
        cls, text: str, registry: Registry = PASSES, op: str | None = MODULE
    ) -> "Pipeline":
        """Read ``builtin.module(…)`` or ``any(…)``.

        Args:
            text: what to read.
            registry: the passes of ours.
            op: the op that it must be for; None for whatever it says.

        Raises:
            PipelineError: the column, the reason, and what would be legal.
        """
        outer = parse_elements(text)
        nested = outer[0].nested if len(outer) == 1 else None
        anchor = outer[0].name if outer else ""
        if nested is None or (op is not None and anchor not in (op, ANY)):
            inside = text.strip() or "canonicalize"
            raise PipelineTextError(
                text,
                outer[0].offset if outer else 0,
                f"a pipeline is anchored on {op or MODULE}",
                f"write '{op or MODULE}({inside})'",
            )
        resolver = _Resolver(text, registry)
        resolver.refuse_ours(outer[0])
        return cls(text, tuple(resolver.resolve(nested)), anchor)

    def __str__(self) -> str:
        texts = (
            options.render(one) if isinstance(one, Pass) else str(one)
            for one in self.elements
        )
        return f"{self.anchor}({','.join(texts)})"

    def check(self) -> None:
        """Ask upstream's registry about its passes and their options.

        Raises:
            PipelineError: the column, the reason, and what would be legal.
        """
        with ir.Context():
            for element in self.elements:
                if isinstance(element, Element):
                    for anchor, leaf in _leaves(element, self.anchor):
                        _check_upstream(self.text, anchor, leaf)

    def build(
        self, announce: Announce | None = None, single_step: bool = False
    ) -> PassManager:
        """The pass manager, in the current context.

        Args:
            announce: told of each pass of ours before it runs, and of ``""`` after.
            single_step: tell it of each pass of upstream too. Nested pipelines are
                then taken apart, one pass a run, and the announcing passes show up in
                IR dumps and timing: for finding out which pass has crashed.
        """
        manager = PassManager(self.anchor)
        for element in self.elements:
            if isinstance(element, Pass):
                text = options.render(element)
                name = type(element).__name__
                manager.add(_python_pass(element, text, announce), name, text)
            elif single_step and announce is not None:
                for leaf in _nested_leaves(element):
                    manager.add(_announcer(leaf, announce), "announce")
                    manager.add(leaf)
                manager.add(_announcer("", announce), "announce")
            else:
                manager.add(str(element))
        return manager

    def run(self, module: ir.Operation) -> None:
        """Run all passes on ``module`` (a ``builtin.module``) in place.

        It is verified before the first pass and after the last one: between them that
        takes more time than lowering itself. ``morello-opt`` verifies after each.

        Raises:
            ir.MLIRError: a pass has failed, or the module is wrong before or after all
                of them; holds the diagnostics.
        """
        with module.context:
            module.verify()
            # Other threads have a turn after each pass: while one runs they have none.
            for element in self.elements:
                manager = dataclasses.replace(self, elements=(element,)).build()
                manager.enable_verifier(False)
                manager.run(module)
            module.verify()


class _Resolver:
    """Replaces the elements that name our passes by the passes."""

    def __init__(
        self, text: str, registry: Registry, within: tuple[str, ...] = ()
    ) -> None:
        self.text = text
        self.registry = registry
        self.within = within  # the bundles that this text stands for

    def resolve(self, elements: tuple[Element, ...]) -> Iterator[Pass | Element]:
        for element in elements:
            if element.nested is None and element.name in self.registry:
                yield from self.ours(element)
                continue
            self.refuse_nested(element)
            yield element

    def ours(self, element: Element) -> Iterator[Pass | Element]:
        resolved = self.with_options(element)
        if isinstance(resolved, Pass):
            yield resolved
            return
        if resolved.name in self.within:
            raise self.error(
                element,
                f"bundle '{resolved.name}' contains itself",
                "remove it from what it expands to",
            )
        text = resolved.expand()
        inner = _Resolver(text, self.registry, (*self.within, resolved.name))
        try:
            for one in inner.resolve(parse_elements(text)):
                yield one if isinstance(one, Pass) else one.moved_to(element.offset)
        except PipelineTextError as error:
            what = (
                f"bundle '{resolved.name}' stands for '{text}', which is wrong: {error}"
            )
            raise self.error(element, what, "") from error

    def with_options(self, element: Element) -> Pass | Bundle:
        texts = parse_options(element.options or "", self.text, element.options_offset)
        cls = self.registry.load(element.name)
        try:
            return options.make(cls, [(name, text) for name, text, _ in texts])
        except MorelloError as error:
            what = f"'{element.name}' {error.what}"
            raise self.error(element, what, error.remedy) from error

    def error(self, element: Element, what: str, remedy: str) -> PipelineTextError:
        return PipelineTextError(self.text, element.offset, what, remedy)

    def refuse_ours(self, outer: Element) -> None:
        """Refuse Morello's passes in a pipeline that does not run on modules."""
        if outer.name not in (MODULE, ANY):
            self.refuse_nested(outer)

    def refuse_nested(self, element: Element) -> None:
        for inner in element.nested or ():
            if inner.nested is None and inner.name in self.registry:
                raise PipelineTextError(
                    self.text,
                    inner.offset,
                    f"'{inner.name}' rewrites modules and cannot be nested in "
                    f"'{element.name}'",
                    f"write it directly in '{MODULE}(…)'",
                )
            self.refuse_nested(inner)


def run_ours(pass_: Pass, op: ir.Operation) -> bool:
    """Run a pass of ours; whether it did. What it refuses is reported as an error."""
    try:
        if op.name != MODULE:
            raise PassFailure(
                op.location, f"'{pass_.name}' runs on '{MODULE}', not on '{op.name}'"
            )
        pass_.run(op)
    except PassFailure as failure:
        failure.location.emit_error(str(failure))
        return False
    return True


def _python_pass(
    pass_: Pass, text: str, announce: Announce | None
) -> Callable[[ir.Operation, Any], None]:
    """A pass of ours as upstream calls it."""

    def run(module: ir.Operation, handle: Any) -> None:
        if announce is not None:
            announce(text)
        if not run_ours(pass_, module):
            handle.signal_pass_failure()
        if announce is not None:
            announce("")

    return run


def _announcer(text: str, announce: Announce) -> Callable[[ir.Operation, Any], None]:
    def run(module: ir.Operation, handle: Any) -> None:
        announce(text)

    return run


def _leaves(element: Element, anchor: str) -> Iterator[tuple[str, Element]]:
    """Every pass below ``element``, with the op that its pipeline is anchored on."""
    if element.nested is None:
        yield anchor, element
    for inner in element.nested or ():
        yield from _leaves(inner, element.name)


def _nested_leaves(element: Element) -> Iterator[str]:
    """Every pass below ``element`` as a pipeline of its own."""
    if element.nested is None:
        yield str(element)
    for inner in element.nested or ():
        for text in _nested_leaves(inner):
            yield f"{element.name}({text})"


def refusal_of(anchor: str, element: str) -> str:
    """Why upstream cannot add an element to a pipeline on ``anchor``; empty if it can.

    In the current context.
    """
    with captured_stderr() as noise:
        try:
            PassManager.parse(f"{anchor}({element})")
        except ValueError as error:
            reason = str(error)
        else:
            return ""
    # An option's value that cannot be read is reported on stderr alone.
    return reason + noise.text()


UNKNOWN = "does not refer to a registered pass"
"""Message of upstream for a name that no pass has."""

RESTRICTED = re.compile(r"restricted to '([^']*)'")
"""Message of upstream for a pass that runs on another op."""


def _check_upstream(text: str, anchor: str, leaf: Element) -> None:
    """Refuse a pass that upstream cannot add to a pipeline on ``anchor``."""
    reason = refusal_of(anchor, str(leaf))
    if not reason:
        return
    if UNKNOWN in reason:
        raise PipelineTextError(
            text, leaf.offset, f"no pass is called '{leaf.name}'", closest(leaf.name)
        )
    anchored = RESTRICTED.search(reason)
    if anchored:
        raise PipelineTextError(
            text,
            leaf.offset,
            f"'{leaf.name}' runs on '{anchored[1]}', not on '{anchor}'",
            f"write it directly in '{MODULE}(…)'"
            if anchored[1] == MODULE
            else f"write '{anchored[1]}({leaf.name})'",
        )
    _refuse_options(text, anchor, leaf, reason)


def closest(name: str, more: Sequence[str] = ()) -> str:
    """A remedy for a name that no pass has, and nothing in ``more``."""
    known = [*PASSES.names(), *UPSTREAM_NAMES, *more]
    close = difflib.get_close_matches(name, known, 3)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return "morello-opt --list-passes prints their names"


def _refuse_options(text: str, anchor: str, leaf: Element, reason: str) -> None:
    unknown = re.search(r"no such option (\S+)", reason)
    value = re.search(r"for the --(\S+) option: (.*?)!?\s*$", reason, re.MULTILINE)
    if unknown:
        what = f"has no option '{unknown[1]}'"
    elif value:
        what = f"cannot read option '{value[1]}': {value[2]}"
    else:
        what = f"is refused: {' '.join(reason.split())}"
    raise PipelineTextError(
        text,
        leaf.offset,
        f"'{leaf.name}' {what}",
        f"with its defaults it is {_defaults(anchor, leaf)}",
    )


def _defaults(anchor: str, leaf: Element) -> str:
    """The pass with all its options, as upstream prints it."""
    printed = str(PassManager.parse(f"{anchor}({leaf.name})"))
    return " ".join(printed[len(anchor) + 1 : -1].split())

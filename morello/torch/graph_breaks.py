"""The code that Dynamo leaves to eager, in the log, with what to change.

Dynamo traces what it knows and runs the rest in eager, in silence; without a graph the
backend is not called at all. `watch` looks at Dynamo's lists of reasons after each
compilation: of the places where it cut, and of what it skipped whole.
"""

from typing import Any

from torch._dynamo import callback
from torch._dynamo.utils import counters, graph_break_reasons

from morello.torch.group import log

_REMEDIES = {
    "generic_jump": "it branches by the value of a tensor; torch.where does not"
}
"""Sentences for reasons that are one word of Dynamo's."""

_seen: set[str] = set()


def watch() -> None:
    """Tell of each place once; Dynamo forgets it at ``torch._dynamo.reset()``."""
    callbacks = callback.callback_handler.end_callbacks
    if _tell not in callbacks:
        callbacks.append(_tell)


def _tell(arguments: callback.CallbackArgs) -> None:
    del arguments
    sentences = []
    for reason in list(graph_break_reasons):
        last = reason.user_stack[-1] if reason.user_stack else None
        place = (last.filename, last.lineno) if last else None
        sentences.append(_sentence(reason.reason, place))
    # Functions that Dynamo skips have no place.
    sentences += map(_sentence, list(counters["unimplemented"]))
    for text in sentences:
        if text not in _seen:
            _seen.add(text)
            log.warning(text)


def _sentence(reason: Any, place: tuple[str, int | None] | None = None) -> str:
    where = f"{place[0]}:{place[1]}: " if place else ""
    lines = [line.strip() for line in str(reason).splitlines()]
    parts = [line.partition(": ") for line in lines[1:]]
    named = {key: value for key, _, value in reversed(parts)}  # the first hint stays
    why = named.get("Explanation") or _REMEDIES.get(lines[0].split()[0], lines[0])
    of = named.get("Developer debug context")
    hint = named.get("Hint")
    return (
        f"{where}Dynamo leaves code to eager: {why.rstrip('.')}"
        f"{f' ({of})' if of else ''}{f'; {hint}' if hint else ''}"
    )

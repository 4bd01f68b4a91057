"""Dumps of pipelines that passes run themselves, which upstream prints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

RUN_PIPELINES = frozenset({"composite-fixed-point-pass", "inline"})
"""Passes of upstream that do."""

_HEADER = re.compile(
    r"^// -----// IR Dump (Before|After) (\S+)( Failed)?: (.*) //----- //\n", re.M
)


@dataclass(frozen=True)
class InnerDump:
    """The IR at the beginning or the end of a pass that ran within another.

    Args:
        when: ``Before`` or ``After``.
        name: of its class.
        failed: whether it has failed.
        header: the line that upstream prints first.
        text: the pass with its options, and the op, where upstream says that.
        body: the IR, and the empty lines after it.
    """

    when: str
    name: str
    failed: bool
    header: str
    text: str
    body: str

    @property
    def argument(self) -> str:
        """The name of the pass in a pipeline."""
        return re.split(r"[{ ]", self.text, maxsplit=1)[0]


def inner_dumps(said: str, outer: str) -> Iterator[InnerDump]:
    """The dumps in what upstream has printed, but those of the pass around them.

    Args:
        said: what was printed for a pass.
        outer: the name of its class.
    """
    headers = list(_HEADER.finditer(said))
    ends = [header.start() for header in headers[1:]] + [len(said)]
    for header, end in zip(headers, ends, strict=True):
        if header[2] != outer:
            body = said[header.end() : end]
            yield InnerDump(
                header[1], header[2], bool(header[3]), header[0], header[4], body
            )

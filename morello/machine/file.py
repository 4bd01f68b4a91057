"""Target files: the text form of a target, with comments from ``#`` to line ends.

After it stands what the costs were measured with, if they were: a digest for each
kernel, and one for the terms of the cost model (`digests.py`).
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from morello.errors import TargetError

MAX_BYTES = 1 << 20
"""A longer file is not a target's."""


MEASURED = "measured"
"""The word before the digests."""

_FILE = re.compile(rf"(?P<target>.*\}})\s*{MEASURED}\{{(?P<digests>[^{{}}]*)\}}")
_DIGEST = re.compile(r"(\w+)=([0-9a-f]{1,16})")


@dataclasses.dataclass(frozen=True)
class TargetFile:
    """Contents of a target file.

    Args:
        text: the text form of the target.
        digests: by name, what each price was measured with; None if the file does not
            say so, as where a person wrote it.
    """

    text: str
    digests: Mapping[str, str] | None = None


def read_target_file(name: str) -> TargetFile:
    """The contents of a file.

    Raises:
        TargetError: the file cannot be read, or holds no text; or a digest is none.
    """
    whole = _read(name)
    match = _FILE.fullmatch(whole)
    if match is None:
        return TargetFile(whole)
    digests: dict[str, str] = {}
    for row in filter(None, map(str.strip, match["digests"].split(","))):
        digest = _DIGEST.fullmatch(row)
        if digest is None or digest[1] in digests:
            raise TargetError(
                f"the target file '{name}' has '{row}' among its digests",
                "write the file anew: morello calibrate -o FILE",
            )
        digests[digest[1]] = digest[2]
    return TargetFile(match["target"], digests)


def _read(name: str) -> str:
    """The text of a file without comments and line ends."""
    if not name:
        raise TargetError("the target '@' names no file", "write @FILE")
    try:
        path = Path(name).expanduser()
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TargetError(
            f"the target file '{name}' cannot be read: {reason}",
            "give a file that 'morello calibrate -o FILE' wrote",
        ) from error
    if len(data) > MAX_BYTES:
        raise TargetError(f"the target file '{name}' has more than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetError(
            f"the target file '{name}' is not UTF-8 text", "save it as UTF-8"
        ) from error
    uncommented = (line.partition("#")[0].strip() for line in text.splitlines())
    whole = "".join(uncommented)
    if not whole:
        raise TargetError(
            f"the target file '{name}' holds no target",
            "write one outside of comments: avx2{fork=1000}",
        )
    return whole

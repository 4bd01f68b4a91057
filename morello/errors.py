"""The errors that reach a user.

Every error that is the user's to mend derives from `MorelloError`; the tools print it
as one message and no traceback. Any other exception is a defect of Morello.
"""


def shortened(text: str, most: int = 200) -> str:
    """A text to be quoted in a message: of a long one the beginning."""
    return text if len(text) <= most else f"{text[:most]}…"


def is_file_name(text: str) -> bool:
    """Whether a text that should be a module of MLIR names a file with one."""
    return text.endswith(".mlir") and not any(map(str.isspace, text))


def visible(text: str) -> str:
    """A text without characters that command a terminal, which stand as ``\\x1b``.

    Messages quote files and databases of strangers. New lines and tabs stay.
    """
    if text.isprintable():  # most are, and searches make many that nobody sees
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable() or char in "\n\t":
        return char
    # Bytes of a file's name that are not UTF-8 are written as they are.
    if "\udc80" <= char <= "\udcff":
        return char
    return char.encode("unicode_escape").decode()


class MorelloError(Exception):
    """Base of all errors for users: the fault, its place, the reason, and a remedy.

    Args:
        what: one sentence that names the argument or the place and the reason.
        remedy: what the user can do; printed after the sentence.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = visible(what)
        self.remedy = visible(remedy)
        super().__init__(f"{self.what}; {self.remedy}" if remedy else self.what)


class SpecError(MorelloError):
    """A Spec, layout, dtype or limit that cannot be (text or constructor)."""

    offset = 0
    """Characters of the text that was read before the part at fault."""

    def at_column(self, column: int) -> "SpecError":
        """A copy of the error with the column, from 1, of the text that was read."""
        what = f"Spec column {column + self.offset}: {self.what}"
        return type(self)(what, self.remedy)


class TargetError(MorelloError):
    """A target that is unknown, or that this machine cannot run."""


class ScheduleError(MorelloError):
    """A schedule that does not fit the Spec that it is applied to."""


class SearchError(MorelloError):
    """No program exists in the space for a Spec."""


class PipelineError(MorelloError):
    """A pass pipeline that cannot be read or built."""


class CompileError(MorelloError):
    """A module that cannot be brought to machine code."""


class FileError(MorelloError, OSError):
    """A file that cannot be read or written."""


class ArgumentError(MorelloError, ValueError):
    """An array handed to a kernel that does not fit its Spec."""

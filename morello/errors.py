"""The errors that reach a user.

Every error that is the user's to mend derives from `MorelloError`; the tools print it
as one message and no traceback. Any other exception is a defect of Morello.
"""


class MorelloError(Exception):
    """What is wrong, where, why, and what to do about it.

    Args:
        what: one sentence that names the argument or the place and the reason.
        remedy: what the user can do; printed after the sentence.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


class SpecError(MorelloError):
    """A Spec, layout, dtype or limit that cannot be (text or constructor)."""


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


class ArgumentError(MorelloError, ValueError):
    """An array handed to a kernel that does not fit its Spec."""

"""Warnings that name the line of the caller's program: `warn`."""

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the line outside of this package that led here.

    How many frames of the package lie between depends on the thread and on the
    interpreter. In a thread of the package there is no such line, and the outermost
    one is named.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (
        str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

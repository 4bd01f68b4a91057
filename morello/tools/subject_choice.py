"""The program that a command line names, a Spec or a model: `subject_of`."""

from morello.tools.common_flags import Searched
from morello.tools.model_files import is_model
from morello.tools.subjects import SpecSubject, Subject


def subject_of(options: Searched, seed: int) -> Subject:
    """The program that a command line names.

    Raises:
        MorelloError: it is refused, with the reason.
    """
    if is_model(options):
        # Programs of MLIR need much that Specs do not.
        from morello.tools.model_subject import ModelSubject

        return ModelSubject(options, seed)
    return SpecSubject(options, seed)

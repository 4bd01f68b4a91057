"""The flags that several commands of ``morello`` have."""

from typing import Any

from morello.tools.flags import flag, input_shape, seconds, whole_number


def target() -> Any:
    """The flag ``--target``."""
    return flag(
        "the machine to compile for: a name, optionally with numbers in braces, or "
        "@FILE for a file of 'morello calibrate' (default: the target of the given "
        "schedule, else MORELLO_TARGET, else native: the known target that is nearest "
        "to this machine)",
        metavar="NAME",
    )


def fallback() -> Any:
    """The flag ``--fallback``."""
    return flag(
        "of a program in a file: leave heavy ops that are no Spec to MLIR's plain "
        "lowering, too, loops that are slow; they are listed",
        default=False,
    )


def winograd() -> Any:
    """The flag ``--winograd``."""
    return flag(
        "of a program in a file: allow the larger rounding errors of Winograd's "
        "algorithm, where it makes convolutions cheaper; they are listed",
        default=False,
    )


def shape() -> Any:
    """The flag ``--shape``."""
    return flag(
        "of a model of ONNX: the shape of an input that the file leaves open; may be "
        "repeated",
        metavar="INPUT=4,8",
        parse=input_shape,
        repeats=True,
    )


def schedule() -> Any:
    """The flag ``--schedule``."""
    return flag(
        "a module with the Spec and its schedule, as 'emit --stage schedule' prints "
        "it, used instead of a search; its holes are searched; - is the standard "
        "input",
        metavar="FILE",
    )


def threads() -> Any:
    """The flag ``--threads``."""
    return flag(
        "the most threads that a call may use (default: the number of the given "
        "schedule, else MORELLO_THREADS, else the available processors)",
        metavar="N",
        parse=whole_number(1),
    )


def jobs() -> Any:
    """The flag ``--jobs``."""
    return flag(
        "how many processes search for the parts of a program in a file, each of which "
        "takes up to 600 MB (default: 1)",
        default=1,
        metavar="N",
        parse=whole_number(1),
    )


def time_limit() -> Any:
    """The flag ``--time-limit``."""
    return flag(
        "stop the search after this long, and take the best program that is known by "
        "then; Ctrl-C stops it, too (default: never)",
        metavar="SECONDS",
        parse=seconds,
    )


def db() -> Any:
    """The flag ``--db``."""
    return flag(
        "the database of solved Specs: a path, several with ':' between them (the "
        "first is written, the others are read), or 'none' (default: MORELLO_DB, else "
        "tables.sqlite in the folder morello of XDG_DATA_HOME)",
        metavar="PATH",
    )


def untuned() -> Any:
    """The flag ``--untuned``, of commands that use what was measured."""
    return flag(
        "take the model's choice, whatever 'morello tune' has measured", default=False
    )


def tuned() -> Any:
    """The flag ``--tuned``, of commands that do not."""
    return flag(
        "take what 'morello tune' has measured on this machine to be fastest, if it "
        "has (default: the model's choice, the same on every machine)",
        default=False,
    )


def seed() -> Any:
    """The flag ``--seed``."""
    return flag(
        "the seed of the random inputs (default: 0)",
        default=0,
        metavar="N",
        parse=whole_number(0),
    )

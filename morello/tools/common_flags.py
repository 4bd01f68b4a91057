"""The flags that several commands of ``morello`` have, as bases of their options."""

import dataclasses
from typing import Any

from morello.tools.flags import flag, input_shape, positional, seconds, whole_number

SPEC = "what to compute, e.g. matmul:512x512x512:f32 (m x k x n)"


@dataclasses.dataclass(frozen=True)
class OnTarget:
    """A command that is for a machine, and has a database."""

    target: str | None = flag(
        "the machine to compile for: a name, optionally with numbers in braces, or "
        "@FILE for a file of 'morello calibrate' (default: the target of the given "
        "schedule, else MORELLO_TARGET, else native: the known target that is nearest "
        "to this machine)",
        metavar="NAME",
    )
    db: str | None = flag(
        "the database of solved Specs: a path, several with ':' between them (the "
        "first is written, the others are read), or 'none' (default: MORELLO_DB, else "
        "tables.sqlite in the folder morello of XDG_DATA_HOME)",
        metavar="PATH",
    )


@dataclasses.dataclass(frozen=True)
class Threaded(OnTarget):
    """A command that compiles for some threads."""

    threads: int | None = flag(
        "the most threads that a call may use (default: the number of the given "
        "schedule, else MORELLO_THREADS, else the available processors)",
        metavar="N",
        parse=whole_number(1),
    )


@dataclasses.dataclass(frozen=True)
class OfSpec(Threaded):
    """A command for a Spec, which may have a schedule."""

    spec: str = positional(SPEC, "SPEC")
    schedule: str | None = flag(
        "a module with the Spec and its schedule, as 'emit --stage schedule' prints "
        "it, used instead of a search; its holes are searched; - is the standard "
        "input",
        metavar="FILE",
    )


@dataclasses.dataclass(frozen=True)
class OfModel(OfSpec):
    """A command for a Spec, or for a program in a file."""

    spec: str = positional(
        f"{SPEC}; or a file with a model, that ends in .onnx, or in .mlir or .mlirbc: "
        "linalg on tensors, or StableHLO",
        "SPEC",
    )
    fallback: bool = flag(
        "of a program in a file: leave heavy ops that are no Spec to MLIR's plain "
        "lowering, too, loops that are slow; they are listed",
        default=False,
    )
    winograd: bool = flag(
        "of a program in a file: allow the larger rounding errors of Winograd's "
        "algorithm, where it makes convolutions cheaper; they are listed",
        default=False,
    )
    shape: tuple[tuple[str, tuple[int, ...]], ...] = flag(
        "of a model of ONNX: the shape of an input that the file leaves open; may be "
        "repeated",
        metavar="INPUT=4,8",
        parse=input_shape,
        repeats=True,
    )


def time_limit() -> Any:
    """The flag ``--time-limit``."""
    return flag(
        "stop the search after this long, and take the best program that is known by "
        "then; Ctrl-C stops it, too (default: never)",
        metavar="SECONDS",
        parse=seconds,
    )


@dataclasses.dataclass(frozen=True)
class Searched(OfModel):
    """A command that searches for the parts of a program, too."""

    time_limit: float | None = time_limit()
    jobs: int = flag(
        "how many processes search for the parts of a program in a file, each of which "
        "takes up to 600 MB (default: 1)",
        default=1,
        metavar="N",
        parse=whole_number(1),
    )


def untuned() -> Any:
    """The flag ``--untuned``, of commands that use what was measured."""
    return flag(
        "take the model's choice, whatever 'morello tune' has measured", default=False
    )


@dataclasses.dataclass(frozen=True)
class Called(Searched):
    """A command that calls what it compiles."""

    seed: int = flag(
        "the seed of the random inputs (default: 0)",
        default=0,
        metavar="N",
        parse=whole_number(0),
    )
    untuned: bool = untuned()


def tuned() -> Any:
    """The flag ``--tuned``, of commands that do not use what was measured."""
    return flag(
        "take what 'morello tune' has measured on this machine to be fastest, if it "
        "has (default: the model's choice, the same on every machine)",
        default=False,
    )

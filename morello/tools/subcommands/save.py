"""``morello save``: write a kernel as files that C and C++ programs link."""

import dataclasses
from pathlib import Path

from morello.aot.bundle import Bundle
from morello.aot.c_names import check_c_name
from morello.aot.library import SUFFIXES, Library, unknown_suffix
from morello.aot.variants import Variants
from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError, CompileError
from morello.spec import Array, Spec
from morello.tools.array_files import read_operand
from morello.tools.commands import SaveOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.model_files import is_model
from morello.tools.request import Request


def main(options: SaveOptions) -> int:
    """Run the command.

    Raises:
        MorelloError: an argument is refused; nothing is written.
    """
    _check(options)
    if is_model(options):
        libraries, arrays = _model_libraries(options)
    else:
        libraries, arrays = _spec_libraries(options)
    files = Bundle.of(libraries)
    contents = [(file, files.content(file)) for file in options.output]
    contents += [
        (packed_file(options.output[0], name), array.tobytes())
        for name, array in arrays.items()
    ]
    for file, content in contents:
        write_output(file, content)
    return 0


Written = tuple[list[Library], dict[str, Array]]
"""Libraries for the same files, and arrays that are written next to these."""


def _spec_libraries(options: SaveOptions) -> Written:
    """The kernels of Specs, and packed inputs."""
    requests = _requests(options, options.spec, options.schedule)
    others = {name: _requests(options, text) for name, text in options.also}
    spec = requests[0].goal.spec
    arrays = {
        name: read_operand(path, spec, _input(spec, name))
        for name, path in options.pack
    }
    tune = None if options.tuned else False

    def compiled(requests: list[Request]) -> list[Kernel]:
        return [r.compile(options.threads, tune=tune, load=False) for r in requests]

    kernels = compiled(requests)
    libraries = [_library(options, kernels, options.name)]
    for name, wanted in others.items():
        libraries.append(_library(options, compiled(wanted), name))
    packed = {name: kernels[0].pack(array, name) for name, array in arrays.items()}
    return libraries, packed


def _model_libraries(options: SaveOptions) -> Written:
    """The kernel of a model for each target, and its constants, which are arguments in
    C.

    Raises:
        MorelloError: ops without a Spec, or ``--pack`` or ``--also``.
    """
    # Programs of MLIR need much that Specs do not.
    from morello.tools.model_subject import ModelSubject

    if options.pack or options.also:
        raise UsageError("--pack and --also are for Specs", "leave them out")
    tune = None if options.tuned else False
    kernels = [
        ModelSubject(dataclasses.replace(options, target=target), seed=0).compile(
            options.threads, tune, load=False
        )
        for target in options.targets or (options.target,)
    ]
    return [_library(options, kernels, options.name)], kernels[0].constants


def _requests(
    options: SaveOptions, spec: str, schedule: str | None = None
) -> list[Request]:
    """A kernel for each target."""
    return [
        Request.read(spec, target, schedule, options.db, options.time_limit)
        for target in options.targets or (options.target,)
    ]


def _library(options: SaveOptions, kernels: list[Kernel], name: str | None) -> Library:
    """The kernels of one program under one name."""
    libraries = [kernel.library(name) for kernel in kernels]
    return Variants.of(libraries) if options.targets else libraries[0]


def packed_file(file: str, operand: str) -> str:
    """The file of an operand's packed elements, next to a file of the kernel."""
    return str(Path(file).with_suffix(f".{operand}.bin"))


def _input(spec: Spec, name: str) -> int:
    """Index of the operand with a name, which has to be an input.

    Raises:
        ArgumentError: there is no such operand.
    """
    inputs = {o.name: i for i, o in enumerate(spec.kind.operands) if not o.is_written}
    if name not in inputs:
        raise ArgumentError(
            f"--pack {name}=…: {spec.kind.label} has no input '{name}'",
            f"it has: {', '.join(inputs) or 'none'}",
        )
    return inputs[name]


def _check(options: SaveOptions) -> None:
    """Refuse names before the search, not after it.

    Raises:
        UsageError: no file, one that cannot be written, or whose ending means nothing;
            a name that C does not have; several targets beside one, or a schedule.
    """
    if options.targets and (options.target or options.schedule):
        raise UsageError(
            "argument --targets: it goes neither with --target nor with --schedule",
            "name every target in it; without --schedule each has a program of its own",
        )
    if not options.output:
        raise UsageError(
            "no file to write", f"give -o FILE, which ends in {' or '.join(SUFFIXES)}"
        )
    for file in options.output:
        if Path(file).suffix not in SUFFIXES:
            error = unknown_suffix(file)
            raise UsageError(error.what, error.remedy)
        check_output(file)
    names = [name for name, _ in options.pack]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--pack {name}=… is given twice", "give each input once")
        check_output(packed_file(options.output[0], name))
    _check_names(options)


def _check_names(options: SaveOptions) -> None:
    """Refuse names that C does not have, and a name of two kernels.

    Raises:
        UsageError: names the flag.
    """
    others = [name for name, _ in options.also]
    flags = [("--name", options.name)] if options.name is not None else []
    flags += [("--also", name) for name in others]
    for flag, name in flags:
        try:
            check_c_name(name or "")
        except CompileError as error:
            raise UsageError(f"argument {flag}: {error.what}", error.remedy) from None
        if [*others, options.name].count(name) > 1:
            raise UsageError(
                f"argument {flag}: two kernels have the name {name!r}",
                "give each a name of its own",
            )

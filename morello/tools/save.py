"""``morello save``: write a kernel as files that C and C++ programs link."""

from pathlib import Path

from morello.aot.c_names import check_c_name
from morello.aot.library import SUFFIXES, unknown_suffix
from morello.aot.variants import Variants
from morello.errors import ArgumentError, CompileError
from morello.spec import Spec
from morello.tools.array_files import read_operand
from morello.tools.commands import SaveOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.request import Request


def main(options: SaveOptions) -> int:
    """Run the command.

    Raises:
        MorelloError: an argument is refused; nothing is written.
    """
    _check(options)
    requests = [
        Request.read(
            options.spec, target, options.schedule, options.db, options.time_limit
        )
        for target in options.targets or (options.target,)
    ]
    spec = requests[0].goal.spec
    arrays = {
        name: read_operand(path, spec, _input(spec, name))
        for name, path in options.pack
    }
    kernels = [
        request.compile(options.threads, tune=None if options.tuned else False)
        for request in requests
    ]
    libraries = [kernel.library(options.name) for kernel in kernels]
    library = Variants.of(libraries) if options.targets else libraries[0]
    contents = [(file, library.content(file)) for file in options.output]
    for name, array in arrays.items():
        file = packed_file(options.output[0], name)
        contents.append((file, kernels[0].pack(array, name).tobytes()))
    for file, content in contents:
        write_output(file, content)
    return 0


def packed_file(file: str, operand: str) -> str:
    """The file of an operand's packed elements, next to a file of the kernel."""
    return str(Path(file).with_suffix(f".{operand}.bin"))


def _input(spec: Spec, name: str) -> int:
    """The number of an operand that is only read.

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
    if options.name is not None:
        try:
            check_c_name(options.name)
        except CompileError as error:
            raise UsageError(f"argument --name: {error.what}", error.remedy) from None

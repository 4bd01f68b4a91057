"""``morello save``: write a kernel as files that C and C++ programs link."""

from pathlib import Path

from morello.aot.c_names import check_c_name
from morello.aot.library import SUFFIXES, unknown_suffix
from morello.errors import CompileError
from morello.tools.commands import SaveOptions
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.request import Request


def main(options: SaveOptions) -> int:
    """Do what the command line says.

    Raises:
        MorelloError: what is refused; then nothing is written.
    """
    _check(options)
    request = Request.read(
        options.spec, options.target, options.schedule, options.db, options.time_limit
    )
    library = request.compile(options.threads).library(options.name)
    contents = [(file, library.content(file)) for file in options.files]
    for file, content in contents:
        write_output(file, content)
    return 0


def _check(options: SaveOptions) -> None:
    """Refuse names before the search, not after it.

    Raises:
        UsageError: no file, one that cannot be written, or whose ending means nothing;
            a name that C does not have.
    """
    if not options.files:
        raise UsageError(
            "no file to write", f"name one that ends in {' or '.join(SUFFIXES)}"
        )
    for file in options.files:
        if Path(file).suffix not in SUFFIXES:
            error = unknown_suffix(file)
            raise UsageError(error.what, error.remedy)
        check_output(file)
    if options.name is not None:
        try:
            check_c_name(options.name)
        except CompileError as error:
            raise UsageError(f"argument --name: {error.what}", error.remedy) from None

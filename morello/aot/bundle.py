"""Several kernels in one object with one header: the layers of a program."""

import dataclasses
from collections.abc import Sequence

from morello.aot.entry_points import called
from morello.aot.library import Files, Library
from morello.errors import CompileError
from morello.lazy import cached_property
from morello.runtime.engine import Compiled, compile_modules_for_linker


@dataclasses.dataclass(frozen=True)
class Bundle(Files):
    """Kernels of different names, each with all that a `Library` of it has.

    Args:
        libraries: the kernels, each under its name; `Variants` among them, too.

    Raises:
        CompileError: two kernels have one name, or there is none.
    """

    libraries: tuple[Library, ...]

    def __post_init__(self) -> None:
        names = [library.name for library in self.libraries]
        if not names:
            raise CompileError("there is no kernel to save", "give one or more")
        for name in names:
            if names.count(name) > 1:
                raise CompileError(
                    f"{names.count(name)} kernels have the name {name!r}",
                    "give each a name of its own",
                )

    @classmethod
    def of(cls, libraries: Sequence[Library]) -> Files:
        """Files of several kernels in one bundle; one kernel stays as it is."""
        return libraries[0] if len(libraries) == 1 else cls(tuple(libraries))

    @cached_property
    def _compiled(self) -> Compiled:
        return compile_modules_for_linker(
            [module for library in self.libraries for module in library.modules],
            "\n".join(
                [called()]
                + [
                    text
                    for library in self.libraries
                    for text in (library.declarations, library.around)
                ]
            ),
            [name for library in self.libraries for name in library.exported],
        )

    @property
    def header(self) -> str:
        """The headers of all kernels, one after the other."""
        return "\n".join(library.header for library in self.libraries)

"""A model as files for C and C++."""

import dataclasses
from typing import cast

from morello.aot.c_names import c_identifiers
from morello.aot.header import Interface, header
from morello.aot.library import Library
from morello.aot.pack_code import Packable
from morello.compiler.stages import Stages
from morello.frontends.compiling import Texts
from morello.runtime.parameter import Parameter


@dataclasses.dataclass(frozen=True)
class ModelLibrary(Library):
    """A compiled model to be linked, as `Library` is a kernel to be linked.

    Its constants are arguments: after those of the model, before the results.
    """

    title: str = ""
    """The model in a few words."""

    @classmethod
    def of(
        cls, texts: Texts, parameters: tuple[Parameter, ...], name: str, title: str
    ) -> "ModelLibrary":
        """The library of a compiled model, whose arguments have names of C."""
        names = c_identifiers([parameter.name for parameter in parameters])
        parameters = tuple(
            dataclasses.replace(parameter, name=own)
            for parameter, own in zip(parameters, names, strict=True)
        )
        # A Library reads of the stages only what `Texts` has.
        return cls(cast(Stages, texts), parameters, name, title)

    @property
    def packable(self) -> tuple[Packable, ...]:
        """None: its arguments are row-major."""
        return ()

    @property
    def header(self) -> str:
        """The header, for C99 and C++."""
        target = self.stages.target
        return header(
            Interface(
                self.name,
                self.title,
                "The constants of the model are arguments, after its own.",
                self.parameters,
                tuple(parameter.shape for parameter in self.parameters),
                tuple("row-major" for _ in self.parameters),
                self.workspace_bytes,
                ((target.name, tuple(sorted(self.required))),),
                self.stages.threads,
            )
        )

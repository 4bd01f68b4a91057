"""Several kernels of one Spec in one object: the CPU decides which one runs."""

import dataclasses
from collections.abc import Sequence

from morello.aot.entry_points import (
    called,
    dispatching_entry_points,
    rename,
    variant_name,
)
from morello.aot.library import Library, Module
from morello.aot.stages import name_module
from morello.errors import CompileError
from morello.lazy import cached_property
from morello.runtime.engine import Compiled, compile_modules_for_linker


@dataclasses.dataclass(frozen=True)
class Variants(Library):
    """A function that runs the first of several kernels that the CPU can run.

    The one that needs most comes first. All have the same arguments, and the workspace
    of the largest.

    Raises:
        CompileError: as for `Library`.
    """

    others: tuple[Library, ...] = ()
    """The kernels but the first."""

    @classmethod
    def of(cls, libraries: Sequence[Library]) -> "Variants":
        """The kernels of some libraries, under the name of the first.

        Raises:
            CompileError: they are of other Specs or layouts, or two need the same of
                the CPU.
        """
        best = libraries[0]
        for other in libraries[1:]:
            if other.parameters != best.parameters:
                raise CompileError(
                    f"kernels for {best.stages.target.name} and "
                    f"{other.stages.target.name} take other arrays",
                    "name the layouts of operands in the Spec",
                )
        first, *others = sorted(libraries, key=lambda one: -len(one.required))
        for better, other in zip((first, *others), others, strict=False):
            if other.required == better.required:
                raise CompileError(
                    f"{better.stages.target.name} and {other.stages.target.name} need "
                    "the same CPU features: one of them would never run",
                    "give targets of several instruction sets: avx2,avx512",
                )
        return cls(first.stages, first.parameters, best.name, best.title, tuple(others))

    @property
    def workspace_bytes(self) -> int:
        """The most that a kernel takes."""
        return max(one.stages.workspace_bytes for one in self.variants)

    @property
    def variants(self) -> tuple[Library, ...]:
        """The first choice first."""
        first = Library(self.stages, self.parameters, self.name, self.title)
        return (first, *self.others)

    @property
    def modules(self) -> tuple[Module, ...]:
        """The kernels, under the names that `around` calls them by."""
        kernels = []
        for number, one in enumerate(self.variants):
            target, stages = one.stages.target, one.stages
            text = rename(stages.llvm, stages.name, variant_name(self.name, number))
            kernels.append((name_module(text, self.name), target.cpu, one.features))
        return tuple(kernels)

    @property
    def around(self) -> str:
        """LLVM IR of the functions that choose a kernel, and declarations of all."""
        points = dispatching_entry_points(
            self.name,
            self.parameters,
            self.workspace_bytes,
            [(one.required, one.stages.workspace_bytes > 0) for one in self.variants],
        )
        return "\n".join([points, *self._pack_functions()])

    @property
    def exported(self) -> tuple[str, ...]:
        """None: programs call the functions of `around`."""
        return ()

    @property
    def declarations(self) -> str:
        """None: `around` has them."""
        return ""

    @cached_property
    def _compiled(self) -> Compiled:
        around = f"{self.around}\n{called()}"
        return compile_modules_for_linker(self.modules, around)

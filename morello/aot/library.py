"""A kernel as files: an object, assembly, LLVM IR, and the header."""

import abc
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from morello.aot.c_names import c_identifiers, check_c_name
from morello.aot.entry_points import (
    Packable,
    called,
    declaration,
    entry_points,
    pack_function,
    rename,
    unchecked_name,
)
from morello.aot.header import Interface, header
from morello.aot.stages import Stages, name_module
from morello.docstrings import summary
from morello.errors import CompileError
from morello.lazy import cached_property
from morello.machine.architectures import HOST
from morello.machine.host import required_features
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import Compiled, compile_for_linker
from morello.spec import Spec, print_spec
from morello.spec.text.spellings import text_options
from morello.whole_files import save_whole

SUFFIXES = (".o", ".s", ".ll", ".h")
"""Suffixes of the files that can be written: object, assembly, LLVM IR, header."""


Module = tuple[str, str, str]
"""LLVM IR of a kernel, the CPU that it is for, and changes to the CPU's features."""


class Files(abc.ABC):
    """Code that can be written as an object, assembly or LLVM IR, with a C header."""

    _compiled: Compiled

    @property
    def object(self) -> bytes:
        """An ELF object, position independent; the same bytes for the same kernel."""
        return self._compiled.object

    @property
    def assembly(self) -> str:
        """Assembly, as GNU's assembler and LLVM's take it."""
        return self._compiled.assembly()

    @property
    def llvm(self) -> str:
        """LLVM IR, optimised, in the syntax of llvmlite's LLVM."""
        return self._compiled.llvm

    @property
    @abc.abstractmethod
    def header(self) -> str:
        """The header, for C99 and C++."""

    def content(self, path: str | Path) -> bytes:
        """The contents of a file, by its suffix.

        Raises:
            CompileError: a suffix that means nothing here.
        """
        if not isinstance(path, (str, Path)):
            raise CompileError(
                f"'path' is {type(path).__name__}, not a path", "give text or a Path"
            )
        match Path(path).suffix:
            case ".o":
                return self.object
            case ".s":
                return self.assembly.encode()
            case ".ll":
                return self.llvm.encode()
            case ".h":
                return self.header.encode()
            case _:
                raise unknown_suffix(path)

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all.

        Raises:
            CompileError: a suffix that means nothing here.
            FileError: it cannot be written; what was there is there.
        """
        save_whole(path, self.content(path))


@dataclasses.dataclass(frozen=True)
class Library(Files):
    """A kernel to be linked into C and C++ programs.

    Args:
        stages: the way to the kernel.
        parameters: its arguments.
        name: of the function in C; also the beginning of all other names.
        title: a model in a few words; empty for a Spec. The constants of a model are
            arguments: after its own, before the results.

    Raises:
        CompileError: no name for a function in C, a CPU feature that no test at run
            time is known for, or elements that C has no type for.
    """

    stages: Stages
    parameters: tuple[Parameter, ...]
    name: str
    title: str = ""

    def __post_init__(self) -> None:
        check_c_name(self.name)

    @classmethod
    def of_model(
        cls, stages: Stages, parameters: tuple[Parameter, ...], name: str, title: str
    ) -> "Library":
        """The library of a model, whose arguments get names of C."""
        names = c_identifiers([parameter.name for parameter in parameters])
        named = zip(parameters, names, strict=True)
        parameters = tuple(
            dataclasses.replace(one, name=c_name) for one, c_name in named
        )
        return cls(stages, parameters, name, title)

    @property
    def features(self) -> str:
        """The features of its target as LLVM spells them."""
        return self.stages.target.llvm_features

    @property
    def required(self) -> frozenset[str]:
        """The CPU features that the kernel needs."""
        every = required_features(self.stages.target.cpu, self.features)
        return HOST.used(every, self.stages.llvm)

    @property
    def workspace_bytes(self) -> int:
        """Bytes of the workspace; 0 if it takes none."""
        return self.stages.workspace_bytes

    @property
    def variants(self) -> tuple["Library", ...]:
        """The kernels that it holds."""
        return (self,)

    @property
    def packable(self) -> tuple[Packable, ...]:
        """The inputs that lie otherwise than row-major: each has a pack function.
        Those of a model are row-major."""
        if self.title:
            return ()
        spec = self.stages.spec
        return tuple(
            Packable(
                operand.name,
                spec.shape(index),
                tensor.layout,
                spec.strides(index),
                tensor.dtype.itemsize,
            )
            for index, (operand, tensor) in enumerate(
                zip(spec.kind.operands, spec.tensors, strict=True)
            )
            if not operand.is_written and not tensor.layout.is_row_major
        )

    @property
    def modules(self) -> tuple[Module, ...]:
        """The kernels, under the names that `around` calls them by."""
        kernel = rename(self.stages.llvm, self.stages.name, unchecked_name(self.name))
        text = name_module(kernel, self.name)
        return ((text, self.stages.target.cpu, self.features),)

    @property
    def around(self) -> str:
        """LLVM IR of the functions around the kernel."""
        points = entry_points(
            self.name, self.parameters, self.stages.workspace_bytes, self.required
        )
        return "\n".join([points, *self._pack_functions()])

    @property
    def exported(self) -> tuple[str, ...]:
        """The functions of `modules` that programs call."""
        return (unchecked_name(self.name),)

    @property
    def declarations(self) -> str:
        """LLVM IR that `around` needs where the kernels are modules of their own."""
        return declaration(
            unchecked_name(self.name), self.parameters, self.workspace_bytes > 0
        )

    def _pack_functions(self) -> list[str]:
        return [pack_function(self.name, operand) for operand in self.packable]

    @cached_property
    def _compiled(self) -> Compiled:
        ((kernel, cpu, features),) = self.modules
        around = f"{self.around}\n{called()}"
        return compile_for_linker(kernel, around, cpu=cpu, features=features)

    @property
    def header(self) -> str:
        """The header, for C99 and C++."""
        text, meaning, shapes, layouts = self._described()
        return header(
            Interface(
                self.name,
                text,
                meaning,
                self.parameters,
                tuple(shapes),
                tuple(layouts),
                self.workspace_bytes,
                tuple(
                    (one.stages.target.name, tuple(sorted(one.required)))
                    for one in self.variants
                ),
                max(one.stages.threads for one in self.variants),
                tuple(operand.name for operand in self.packable),
            )
        )

    def _described(self) -> tuple[str, str, Sequence[tuple[int, ...]], Sequence[str]]:
        """The computation as text and as a sentence, and the logical shapes and layouts
        of the arguments."""
        if self.title:
            meaning = "The constants of the model are arguments, after its own."
            shapes = tuple(parameter.shape for parameter in self.parameters)
            return self.title, meaning, shapes, ("row-major",) * len(shapes)
        spec = self.stages.spec
        serial = dataclasses.replace(spec, serial=True)
        return (
            print_spec(serial, self.stages.target.limits),
            _meaning(spec),
            tuple(spec.shape(i) for i in range(len(spec.tensors))),
            tuple(str(tensor.layout) for tensor in spec.tensors),
        )


def _meaning(spec: Spec) -> str:
    """Say in a sentence what a Spec computes; a graph by its statements, which say
    what each argument is for."""
    graph = text_options(spec.kind).get("graph")
    if graph is None:
        return summary(type(spec.kind))
    sizes = ", ".join(f"d{i} = {size}" for i, size in enumerate(spec.sizes))
    spaced = str(graph).replace(";", "; ").replace(",", ", ")
    return f"{spaced}, where {sizes}."


def unknown_suffix(path: str | Path) -> CompileError:
    """Make the error for a file name whose suffix names no format."""
    suffix = Path(path).suffix
    what = f"the suffix {suffix!r}" if suffix else "no suffix"
    return CompileError(
        f"cannot save '{path}': it has {what}",
        "end it in .o (object), .s (assembly), .ll (LLVM IR) or .h (header)",
    )

"""A model as machine code: `CompiledModel`, a function of NumPy arrays."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from morello.compiler.kernel import Times
from morello.compiler.pickling import Parts, freeze, thaw
from morello.errors import CompileError
from morello.frontends.compiling import Compiled, Texts
from morello.frontends.emission import given_tensors
from morello.frontends.model_library import ModelLibrary
from morello.frontends.model_parameters import parameters
from morello.frontends.packing import Packed
from morello.frontends.parts import Part, PlainPart
from morello.frontends.prepared import Preparation
from morello.frontends.refusals import Refusal
from morello.frontends.steps import counted, fallback_of
from morello.frontends.tensors import Array, Given, Tensors
from morello.machine import Target
from morello.runtime.engine import Engine
from morello.runtime.function import NativeFunction
from morello.runtime.parameter import Parameter
from morello.search import Solution
from morello.spec import Spec


class CompiledModel:
    """A model as machine code: a function of NumPy arrays.

    ``compiled(x, w)`` returns a new array, or a tuple of several results;
    ``out=`` takes the array, or a tuple of them, to be filled. Arguments are
    C-contiguous arrays, or arrays of other libraries on the same memory, in the order
    of the model's. Constants of the model are held here. A call releases the GIL.
    A compiled model can be pickled, and travels with its machine code and constants.
    """

    def __init__(
        self,
        tensors: Tensors,
        found: Sequence[Compiled],
        texts: Texts,
        engine: Engine,
        times: Times,
        preparation: Preparation | None = None,
        packed: Sequence[Packed] = (),
    ) -> None:
        self._tensors = tensors
        self._preparation = preparation
        self._packed = tuple(packed)
        self._steps = tuple(found)
        self._found = tuple(f for f in found if not isinstance(f, PlainPart))
        self._texts = texts
        self._engine = engine
        self.times = times
        """Seconds of the searches and of everything after them."""
        every = parameters(tensors)
        self._function = NativeFunction(
            engine, texts.name, every, texts.workspace_bytes, self.threads
        )
        given = [tensors.all[i] for i in given_tensors(tensors)]
        self._kept = tuple(g for g in given if isinstance(g, Given) and g.argument < 0)
        self._call = self._function.checked()

    @property
    def target(self) -> Target:
        """The target that it was compiled for."""
        return self._texts.target

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is computed, in order: more parts than the model's where one had no
        program as a whole."""
        return tuple(part for part, _, _ in self._found)

    @property
    def fallback(self) -> tuple[Refusal, ...]:
        """The ops that upstream's plain lowering computes, as `Model.fallback`."""
        return fallback_of(self._steps)

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The Spec of each part."""
        return tuple(spec for _, spec, _ in self._found)

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """What the search found for each part."""
        return tuple(solution for _, _, solution in self._found)

    @property
    def threads(self) -> int:
        """The most threads that a call uses."""
        return self._texts.threads

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments of the native function: those of the model, its constants, its
        results."""
        return self._function.parameters

    @property
    def symbol(self) -> str:
        """The name of the function in `llvm`, `asm` and `object`."""
        return self._function.name

    @property
    def address(self) -> int:
        """Where the function starts, as `Kernel.address`."""
        return self._engine.address(self.symbol)

    @property
    def workspace_bytes(self) -> int:
        """Memory that a call uses besides its arguments, for each calling thread."""
        return self._function.workspace_bytes

    @property
    def schedule(self) -> str:
        """The module of all Specs with their schedule."""
        return self._texts.schedule

    @property
    def mlir(self) -> str:
        """The module of loops and vectors that the schedule makes."""
        return self._texts.mlir

    @property
    def llvm(self) -> str:
        """The LLVM IR, optimised."""
        return self._engine.llvm

    @property
    def asm(self) -> str:
        """The assembly."""
        return self._engine.asm

    @property
    def object(self) -> bytes:
        """The ELF object."""
        return self._engine.object

    def cost(self) -> int:
        """The predicted cost of one call, in 1/1000 cycles: the sum of its parts."""
        return sum(solution.impl.cost for solution in self.solutions)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; see the class.

        Raises:
            ArgumentError: an argument does not fit; the message names it.
        """
        return self._call(*self._all(args, kwargs), **kwargs)

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """A function without arguments that runs it on these arrays each time, as
        `Kernel.bind`."""
        return self._function.bind(*self._all(args, kwargs), **kwargs)

    @property
    def constants(self) -> dict[str, Array]:
        """The arrays that the model holds, by the name of the parameter."""
        return {g.name: g.array for g in self._kept if g.array is not None}

    @property
    def reads_weights(self) -> bool:
        """Whether `held` depends on weights."""
        return self._preparation is not None or bool(self._packed)

    @property
    def held_of(self) -> frozenset[int]:
        """The arguments that `held` depends on."""
        found = {packed.source.argument for packed in self._packed}
        if self._preparation is not None:
            found |= self._preparation.arguments
        return frozenset(argument for argument in found if argument >= 0)

    @property
    def reads(self) -> frozenset[int]:
        """The arguments that the native function reads."""
        inputs = [tensor for step in self._steps for tensor in self._inputs(step)]
        roots = map(self._tensors.root, (*inputs, *self._tensors.results))
        given = [self._tensors.all[root] for root in roots]
        found = (g.argument for g in given if isinstance(g, Given))
        return frozenset(argument for argument in found if argument >= 0)

    @staticmethod
    def _inputs(step: Compiled) -> tuple[int, ...]:
        return step.inputs if isinstance(step, PlainPart) else step[0].inputs

    def held(self, weights: Mapping[int, Array]) -> tuple[Array, ...]:
        """The arrays that the native function takes between the arguments and the
        results: constants, and what is computed of weights alone.

        Args:
            weights: C-contiguous arrays by the number of the argument.
        """
        made = {} if self._preparation is None else self._preparation.run(weights)
        for packed in self._packed:
            source = packed.source
            array = made.get(source.name)
            if array is None:
                array = weights[source.argument]
            made[packed.name] = packed.run(array)
        return tuple(made.get(g.name, g.array) for g in self._kept)  # type: ignore[misc]

    def library(self, name: str | None = None) -> ModelLibrary:
        """The model as C and C++ programs link it; `constants` are arguments there.

        Args:
            name: of the function in C; if it is left out, that of `symbol`.

        Raises:
            CompileError: C has no such name, or a call has to check arguments.
        """
        for expected in self._tensors.expected:
            raise CompileError(
                f"input '{expected.name}' has to be {expected.text}, which C programs "
                "do not check",
                f"read the model with constants={{'{expected.name}': …}}",
            )
        title = f"{self._tensors.name}, a model of {counted(self._steps)}"
        own = self.symbol if name is None else name
        return ModelLibrary.of(self._texts, self.parameters, own, title)

    def save(self, path: str | Path, name: str | None = None) -> None:
        """Write it for C and C++ programs, as `Kernel.save`."""
        self.library(name).save(path)

    def _all(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments and the arrays that are held, by position.

        Args:
            named: loses the arguments that follow those by position.
        """
        if not self._kept and not self._tensors.expected:
            return args
        count = len(self._tensors.names)
        for name in self._tensors.names[len(args) :] if named else ():
            if name not in named:
                break
            args = (*args, named.pop(name))
        for expected in self._tensors.expected:
            expected.check(args)
        held = self.held(dict(enumerate(args)) if self.reads_weights else {})
        return (*args[:count], *held, *args[count:])

    def __reduce__(self) -> tuple[Any, ...]:
        parts = Parts(self._texts, self._engine.compiled, self.times, ())
        whole = (
            parts,
            self._tensors,
            self._steps,
            self._preparation,
            self._packed,
        )
        return _restore, freeze(whole)

    def __copy__(self) -> "CompiledModel":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "CompiledModel":
        return self

    def __repr__(self) -> str:
        return (
            f"<compiled model {self._tensors.name}, {counted(self._steps)}, for "
            f"{self.target.name}>"
        )


def _restore(version: str, data: bytes) -> CompiledModel:
    """The model that was pickled.

    Raises:
        CompileError: by another version of Morello.
        TargetError: this machine lacks a feature that it may use.
    """
    parts, tensors, found, preparation, packed = thaw(version, data)
    engine = parts.engine()
    times = parts.times
    return CompiledModel(
        tensors, found, parts.stages, engine, times, preparation, packed
    )

"""What a user has of a program of MLIR: `Model`, and `CompiledModel`, which runs.

A model lists its parts: graphs that become Specs. Compiled, they are one function with
one workspace, and one call computes all of them.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from morello.compiler.compile import Searches
from morello.compiler.kernel import Times
from morello.compiler.schedule_text import schedule_text
from morello.compiler.stages import name_module
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.dialect import load
from morello.dialect.build import spec_of
from morello.errors import CompileError, SearchError
from morello.frontends.emission import given_tensors, inline_parts, model_module
from morello.frontends.groups import split
from morello.frontends.parts import Part
from morello.frontends.pointwise import absorbed, shared
from morello.frontends.products import hoisted
from morello.frontends.reshapes import without_reshapes
from morello.frontends.softmax import guarded
from morello.frontends.tensors import Given, Tensors
from morello.machine import Target
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.passes.plan_memory import ATTRIBUTE as WORKSPACE
from morello.passes.synthesize import add_schedule
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.function import NativeFunction
from morello.runtime.openmp import load_openmp
from morello.runtime.parameter import Parameter
from morello.runtime.runtime_calls import check_calls
from morello.runtime.translate import lower_to_llvm_text
from morello.search import Patience, Solution
from morello.search.queries.best_program import parallel_goal
from morello.search.storage.overlay import Overlay, PathLike
from morello.spec import Spec, print_spec
from morello.subinterpreters import in_any_interpreter

_SCHEDULED = "builtin.module(morello-apply-schedule,morello-lower-kernels)"
_PLANNED = "builtin.module(morello-plan-memory,morello-parallelize)"
"""`morello.compiler.stages.LOWER`, around the inlining of the parts."""

Progress = Callable[[str], None]
"""Told what is searched, each time that another search begins."""


class Model:
    """A program of linalg or StableHLO as parts, each of which becomes a Spec.

    `compile` searches and compiles them; a call does so with the defaults, once.
    Printed, it lists its parts.
    """

    def __init__(self, tensors: Tensors, parts: tuple[Part, ...]) -> None:
        self._tensors = tensors
        self.parts = parts
        """In the order in which they are computed."""
        self._compiled: CompiledModel | None = None

    @property
    def name(self) -> str:
        """Of the function."""
        return self._tensors.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The dtype and shape of each argument, then of each result."""
        return tuple(p for p in parameters(self._tensors) if p.name not in self._held)

    @property
    def _held(self) -> dict[str, Any]:
        return {
            t.name: t.array
            for t in self._tensors.all
            if isinstance(t, Given) and t.argument < 0
        }

    def specs(self, target: str | Target | None = None) -> tuple[str, ...]:
        """The Spec of each part, as text that `morello.compile` takes."""
        limits = chosen_target(target).limits
        return tuple(print_spec(part.spec(limits), limits) for part in self.parts)

    @in_any_interpreter
    def compile(
        self,
        *,
        target: str | Target | None = None,
        threads: int | None = None,
        db: PathLike | Overlay | None = None,
        time_limit: float | Patience | None = None,
        progress: Progress | None = None,
    ) -> "CompiledModel":
        """Search the best program of each part, and compile all as one function.

        Args:
            target, threads, db: as `morello.compile` takes them.
            time_limit: of each search.
            progress: called with a sentence before each search.

        Raises:
            TargetError, SearchError, CompileError, DatabaseError: as `morello.compile`.
        """
        start = time.perf_counter()
        machine = chosen_target(target)
        count = _available(thread_count(threads, None))
        _, machine = parallel_goal(self.parts[0].spec(machine.limits), machine, count)
        search = Searches(db, time_limit)
        found = _searched(self._tensors, self.parts, machine, count, search, progress)
        compiled = _compiled(self._tensors, found, machine, search, start)
        return CompiledModel(self._tensors, found, machine, *compiled)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; the first call compiles. See `CompiledModel`."""
        if self._compiled is None:
            self._compiled = self.compile()
        return self._compiled(*args, **kwargs)

    def __str__(self) -> str:
        given = ", ".join(_said(p) for p in self.parameters if not p.is_output)
        made = ", ".join(_said(p) for p in self.parameters if p.is_output)
        lines = [f"{self.name}({given}) -> {made}"]
        names = {t: self._named(t) for part in self.parts for t in part.outputs}
        for number, (part, spec) in enumerate(
            zip(self.parts, self.specs(), strict=True)
        ):
            reads = ", ".join(names.get(t) or self._named(t) for t in part.inputs)
            writes = ", ".join(names[t] for t in part.outputs)
            lines.append(f"  {number}: {writes} = {spec} of {reads}")
        return "\n".join(lines)

    def _named(self, tensor: int) -> str:
        found = self._tensors.all[tensor]
        if isinstance(found, Given):
            return found.name
        roots = [self._tensors.root(r) for r in self._tensors.results]
        if tensor in roots:
            return _result_name(roots.index(tensor), len(roots))
        return f"t{tensor}"

    def __repr__(self) -> str:
        count = len(self.parts)
        return f"<model {self.name}, {count} part{'s' if count > 1 else ''}>"


Found = tuple[Part, Spec, Solution]


class CompiledModel:
    """A model as machine code: a function of NumPy arrays.

    ``compiled(x, w)`` returns a new array, or a tuple of several results;
    ``out=`` takes the array, or a tuple of them, to be filled. Arguments are
    C-contiguous arrays, or arrays of other libraries on the same memory, in the order
    of the model's. Constants of the model are held here. A call releases the GIL.
    """

    def __init__(
        self,
        tensors: Tensors,
        found: Sequence[Found],
        target: Target,
        texts: "Texts",
        engine: Engine,
        times: Times,
    ) -> None:
        self._tensors = tensors
        self._found = tuple(found)
        self._texts = texts
        self._engine = engine
        self.target = target
        self.times = times
        """Seconds of the searches and of everything after them."""
        every = parameters(tensors)
        self._function = NativeFunction(
            engine, texts.name, every, texts.workspace_bytes, self.threads
        )
        self._held = tuple(
            given.array
            for i in given_tensors(tensors)
            if isinstance(given := tensors.all[i], Given) and given.argument < 0
        )
        self._call = self._function.checked()

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is computed, in order: more parts than the model's where one had no
        program as a whole."""
        return tuple(part for part, _, _ in self._found)

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
        return self.target.threads if "omp.parallel" in self._texts.mlir else 1

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
        return self._call(*self._all(args), **kwargs)

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """A function without arguments that runs it on these arrays each time, as
        `Kernel.bind`."""
        return self._function.bind(*self._all(args), **kwargs)

    def _all(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self._held:
            return args
        count = len(self._tensors.names)
        return (*args[:count], *self._held, *args[count:])

    def __repr__(self) -> str:
        count = len(self._found)
        return (
            f"<compiled model {self._tensors.name}, {count} "
            f"part{'s' if count > 1 else ''}, for {self.target.name}>"
        )


class Texts:
    """The stages of a compiled model."""

    def __init__(
        self, name: str, schedule: str, mlir: str, llvm: str, workspace_bytes: int
    ) -> None:
        self.name = name
        self.schedule = schedule
        self.mlir = mlir
        self.llvm = llvm
        self.workspace_bytes = workspace_bytes


def parameters(tensors: Tensors) -> tuple[Parameter, ...]:
    """The arguments of the function, its constants, and its results."""
    found = []
    for i in given_tensors(tensors):
        given = tensors.all[i]
        assert isinstance(given, Given)
        found.append(Parameter(given.name, given.dtype.numpy, given.shape))
    count = len(tensors.results)
    for place, result in enumerate(tensors.results):
        shape, dtype = tensors.all[result].shape, tensors.dtype(result).numpy
        name = _result_name(place, count)
        found.append(Parameter(name, dtype, shape, is_output=True))
    return tuple(found)


def _result_name(place: int, count: int) -> str:
    return "out" if count == 1 else f"out{place}"


def _said(parameter: Parameter) -> str:
    shape = "x".join(map(str, parameter.shape)) or "scalar"
    return f"{parameter.name}: {shape} {parameter.dtype}"


def _available(threads: int) -> int:
    if threads > 1 and not load_openmp():
        warnings.warn(
            "no OpenMP runtime was found, so the model has one thread; install the "
            "package intel-openmp",
            RuntimeWarning,
            stacklevel=4,
        )
        return 1
    return threads


def _searched(
    tensors: Tensors,
    parts: Sequence[Part],
    machine: Target,
    threads: int,
    search: Searches,
    progress: Progress | None,
) -> list[Found]:
    """The best program of each part; a part without one becomes several.

    Raises:
        SearchError: a part of one node has none.
    """
    known: dict[Spec, Solution] = {}
    found: list[Found] = []
    rest = list(parts)
    while rest:
        part = rest.pop(0)
        spec, _ = parallel_goal(part.spec(machine.limits), machine, threads)
        if spec not in known:
            if progress is not None:
                progress(f"part {len(found)}: {print_spec(spec, machine.limits)}")
            try:
                known[spec] = search(spec, machine)
            except SearchError:
                smaller = split(tensors, part)
                if len(smaller) == 1:
                    raise
                rest[:0] = smaller
                continue
        found.append((part, spec, known[spec]))
    return found


def _compiled(
    tensors: Tensors,
    found: Sequence[Found],
    machine: Target,
    search: Searches,
    start: float,
) -> tuple[Texts, Engine, Times]:
    impls = {spec: solution.impl for _, spec, solution in found}
    name = _symbol(tensors.name)
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        pairs = [(part, spec) for part, spec, _ in found]
        module = model_module(tensors, pairs, name, machine)
        add_schedule(module.operation, lambda op: impls[spec_of(op)])
        schedule = schedule_text(module)
        try:
            Pipeline.parse(_SCHEDULED).run(module.operation)
            function = inline_parts(module.operation, name)
            Pipeline.parse(_PLANNED).run(module.operation)
        except ir.MLIRError as error:
            raise CompileError(f"the model cannot be lowered: {error}") from error
        workspace = int(ir.IntegerAttr(function.attributes[WORKSPACE]).value)
        mlir = str(module)
        llvm = name_module(lower_to_llvm_text(module), name)
        check_calls(llvm)
    features = ",".join(f"+{feature}" for feature in machine.features)
    engine = compile_llvm(llvm, cpu=machine.cpu, features=features)
    elapsed = time.perf_counter() - start
    times = Times(search.seconds, elapsed - search.seconds)
    return Texts(name, schedule, mlir, llvm, workspace), engine, times


def _symbol(name: str) -> str:
    """A name that C takes."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return f"model_{plain}"


def from_mlir(
    text: str | bytes | Path, *, name: str | None = None, source: str = "model"
) -> Model:
    """A program of linalg on tensors or StableHLO as parts, each of which is a Spec.

    Args:
        text: a module as text; its bytecode; a portable artifact of StableHLO; or the
            path of a file with one of these.
        name: of the function; if it is left out, the only public one, or ``main``.
        source: what messages call the text.

    Raises:
        CompileError: it is no module, or has no such function.
        ModelError: ops that have no Spec: all of them, each with its place.
    """
    from morello.frontends.groups import grouped
    from morello.frontends.importing import imported
    from morello.frontends.reading import chosen_function, read_program

    if isinstance(text, Path):
        source = text.name
        text = text.read_bytes()
    with ir.Context(), ir.Location.unknown():
        module = read_program(text, source)
        tensors = imported(chosen_function(module, name), source)
    tensors = improved(tensors)
    return Model(tensors, grouped(tensors))


def improved(tensors: Tensors) -> Tensors:
    """The tensors of a model as graphs compute them best."""
    for step in (without_reshapes, absorbed, guarded, hoisted, absorbed, shared):
        tensors = step(tensors)
    return tensors

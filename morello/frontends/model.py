"""A program as parts: `Model`, which front ends give.

A model lists its parts: graphs that become Specs. Compiled, they are one kernel: one
function with one workspace, and one call computes all of them.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from morello.compiler.driver import Driver
from morello.compiler.goal import Program
from morello.compiler.kernel import Kernel
from morello.compiler.target_choice import chosen_target
from morello.errors import ArgumentError
from morello.frontends.expected import Expected
from morello.frontends.grouping.beside import Answer, process_count
from morello.frontends.grouping.comparing import is_faster
from morello.frontends.grouping.compiling import Progress, model_stages, searched_parts
from morello.frontends.grouping.evaluating import evaluate_part
from morello.frontends.grouping.groups import grouped
from morello.frontends.grouping.image_order import cheaper_orders, has_orders, laid_out
from morello.frontends.grouping.partition import (
    Join,
    Partition,
    Partitioning,
    checked_partition,
)
from morello.frontends.grouping.parts import Part, PlainPart, Step, whole_part
from morello.frontends.grouping.steps import counted, fallback_of
from morello.frontends.grouping.tilings import CheaperTiling, cheaper_tilings
from morello.frontends.linalg.importing import imported
from morello.frontends.linalg.reading import chosen_function, read_program
from morello.frontends.linalg.signature import Signature
from morello.frontends.model_parameters import held_arrays, parameters, result_name
from morello.frontends.nodes.channels_last import CHANNELS_LAST, Orders
from morello.frontends.nodes.improving import improved
from morello.frontends.nodes.joined.computed_pieces import with_computed_pieces
from morello.frontends.nodes.prepared import Preparation, prepared
from morello.frontends.nodes.reshapes import without_reshapes
from morello.frontends.nodes.scaled_weights import with_scaled_weights
from morello.frontends.nodes.tensors import Array, Source, Tensors
from morello.frontends.nodes.winograd import by_winograd
from morello.frontends.plain.evaluating import evaluate_plainly
from morello.frontends.refusals import Refusal
from morello.frontends.stored_kernels import model_driver, store_kernel
from morello.machine import Target
from morello.mlir import ir
from morello.processes.small_stacks import on_large_stack
from morello.processes.subinterpreters import in_any_interpreter
from morello.runtime.calls.parameter import Parameter
from morello.search import Patience
from morello.search.storage.overlay import Overlay, PathLike
from morello.spec import OpenSpec, print_spec


class Model(Program):
    """A program of linalg or StableHLO as parts, each of which becomes a Spec.

    `compile` searches and compiles them; a call does so with the defaults, once.
    Printed, it lists its parts.
    """

    def __init__(
        self,
        tensors: Tensors,
        steps: tuple[Step, ...],
        preparation: Preparation | None = None,
        tilings: tuple[CheaperTiling, ...] = (),
        unturned: Tensors | None = None,
    ) -> None:
        self.tensors = tensors
        """The tensors of the program, each after those that it reads."""
        self.steps = steps
        """The parts of the work, in the order in which they are computed."""
        self.preparation = preparation
        """The work on weights alone, done before calls; None for none."""
        self.tilings = tilings
        """The convolutions that are computed by Winograd's algorithm."""
        self._unturned = unturned
        """The program before its images are laid out, where prices say how they lie."""
        self._compiled: Kernel | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The graphs that are Specs, in the order in which they are computed."""
        return tuple(step for step in self.steps if isinstance(step, Part))

    @property
    def fallback(self) -> tuple[Refusal, ...]:
        """The ops that are no Spec and are left to upstream's plain lowering: those of
        linear work; with ``from_mlir(…, fallback=True)`` all."""
        return fallback_of(self.steps)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.tensors.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The dtype and shape of each argument, then of each result."""
        return tuple(p for p in parameters(self.tensors) if p.name not in self._held)

    @property
    def _held(self) -> dict[str, Any]:
        return {
            t.name: t.array
            for t in self.tensors.all
            if isinstance(t, Source) and t.argument < 0
        }

    def specs(self, target: str | Target | None = None) -> tuple[str, ...]:
        """The Spec of each part, as text that `morello.compile` takes."""
        limits = chosen_target(target).limits
        return tuple(print_spec(part.spec(limits), limits) for part in self.parts)

    @on_large_stack
    @in_any_interpreter
    def compile(
        self,
        *,
        target: str | Target | None = None,
        threads: int | None = None,
        db: PathLike | Overlay | None = None,
        time_limit: float | Patience | None = None,
        tune: bool | float | str | None = None,
        pack: bool | None = None,
        progress: Progress | None = None,
        keep: str | None = None,
        jobs: int = 1,
        load: bool = True,
        partition: Partition = "rule",
        winograd: bool = False,
    ) -> Kernel:
        """Search the best program of each part, and compile all as one function.

        Args:
            target, threads, db, load: as `morello.compile` takes them.
            time_limit: as `morello.compile` takes it. Each search has a part of what is
                left (`part_of_time`), so that one may end and another not; what all
                leave is for those that were stopped.
            tune: of each part, as `morello.compile` takes it; where parts of less cost
                than the rule's are timed as well, the faster ones stay.
            pack: leave the layouts of matrices that one product reads to the search.
                They are brought into these once, and not in each call. Constants lie
                in panels in place of what was read, at no more memory, unless it is
                False; weights, which are copied, if it is True.
            progress: called with a sentence before each search.
            keep: the name under which the kernel is kept for the next process, beside
                the machine code (`morello.frontends.stored_kernels`).
            jobs: how many processes search; each takes up to 600 MB.
            partition: ``rule`` for the parts that the model lists (but the images of
                convolutions by groups lie as is cheaper); ``cost`` for those of the
                least cost that searches find among these, pieces of them, two joined,
                and maps computed again where they are read.
            winograd: compute convolutions by Winograd's algorithm where that is
                cheaper, with larger rounding errors (`partitioned` says which).

        Raises:
            TargetError, SearchError, CompileError, DatabaseError: as `morello.compile`.
        """
        threads = threads if self.tensors.size is None else 1  # of those allowed
        driver = model_driver(target, threads, db, time_limit, tune, load)
        processes = process_count(jobs, driver.search)
        checked_partition(partition)
        answers: dict[OpenSpec, Answer] = {}
        model = self._by_image_order(driver, pack, answers)
        model = model._by_winograd(driver, pack) if winograd else model

        def built(steps: tuple[Step, ...]) -> Kernel:
            return model._built(steps, driver, progress, pack, answers, processes)

        chosen = model.steps
        if partition != "rule":
            ways = Partitioning(model._copied, model.steps, driver, pack)
            chosen = ways.steps(partition)
            answers = ways.answers(chosen)
        if progress is not None and chosen != self.steps:
            progress(f"the parts of least cost:\n{model._listed(chosen)}")
        kernel = built(chosen)
        if chosen != model.steps and driver.search.times_programs and load:
            other, seconds = built(model.steps), driver.search.tuning_seconds
            inputs = [p for p in model.parameters if not p.is_output]
            if not is_faster(kernel, other, inputs, seconds):
                kernel, chosen = other, model.steps
        if keep is not None:
            store_kernel(keep, kernel, model._listed(chosen), answers, driver)
        return kernel

    @property
    def _copied(self) -> Tensors:
        """The tensors, to which more may be added."""
        return dataclasses.replace(self.tensors, all=list(self.tensors.all))

    def _listed(self, steps: tuple[Step, ...]) -> str:
        """The model with these parts, printed."""
        return str(Model(self.tensors, steps, self.preparation))

    def _built(
        self,
        steps: tuple[Step, ...],
        driver: Driver,
        progress: Progress | None,
        pack: bool | None,
        answers: dict[OpenSpec, Answer],
        processes: int,
    ) -> Kernel:
        """The kernel of some parts, with the arguments of `searched_parts`."""
        tensors = self._copied
        programs, weights = searched_parts(
            tensors, steps, driver, progress, pack, answers, processes
        )
        stages = model_stages(tensors, programs, driver.target)
        parts = [p if isinstance(p, PlainPart) else p[0] for p in programs]
        held = held_arrays(tensors, parts, self.preparation, weights)
        return driver.kernel(stages, parameters(tensors), held=held)

    def partitioned(
        self,
        partition: Partition,
        *,
        winograd: bool = False,
        target: str | Target | None = None,
        threads: int | None = None,
        db: PathLike | Overlay | None = None,
        time_limit: float | Patience | None = None,
    ) -> tuple["Model", list[Join]]:
        """The model with other parts, and why each two of them are not one.

        Args:
            partition, winograd, target, threads, db, time_limit: as `compile` takes
                them.

        Raises:
            TargetError, SearchError, CompileError, DatabaseError: as `morello.compile`.
        """
        driver = model_driver(target, threads, db, time_limit, None, load=False)
        base = self._by_image_order(driver, None, {})
        base = base._by_winograd(driver, None) if winograd else base
        ways = Partitioning(base.tensors, base.steps, driver, None)
        steps = ways.steps(partition)
        model = Model(base.tensors, steps, base.preparation, base.tilings)
        return model, ways.joins(steps, priced=partition == "cost")

    def _by_image_order(
        self, driver: Driver, pack: bool | None, answers: dict[OpenSpec, Answer]
    ) -> "Model":
        """The model with images in the order that is cheaper."""
        if self._unturned is None:
            return self
        orders = cheaper_orders(self._unturned, driver, pack, answers)
        return _model(self._unturned, orders) if orders else self

    def _by_winograd(self, driver: Driver, pack: bool | None) -> "Model":
        """The model with Winograd's algorithm where that is cheaper."""
        driver.search.part = 1 / (1 + len(self.steps))
        tilings = cheaper_tilings(self._whole, driver, pack)
        points = {number: one.tiling.points for number, one in tilings.items()}
        return self.tiled(points, tuple(tilings.values())) if tilings else self

    @property
    def _whole(self) -> Tensors:
        """The tensors with those that are computed of weights."""
        return self.tensors if self.preparation is None else self.preparation.tensors

    def tiled(
        self, points: Mapping[int, int], tilings: tuple[CheaperTiling, ...] = ()
    ) -> "Model":
        """The model with some convolutions by Winograd's algorithm.

        Args:
            points: of a tile, by the number of each convolution.
            tilings: what is said of them.
        """
        whole = by_winograd(self._whole, points)
        rest, preparation = prepared(without_reshapes(whole))
        tensors = with_computed_pieces(rest)
        return Model(tensors, grouped(tensors), preparation, tilings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; the first call compiles. See `Kernel`."""
        if self._compiled is None:
            self._compiled = self.compile()
        return self._compiled(*args, **kwargs)

    def evaluate(self, *arrays: Array) -> Array | tuple[Array, ...]:
        """The definition: what the Specs of the parts define, computed in NumPy.

        Slow, and for tests: sums are in f64, and rounded once. What is left to plain
        lowering has no other definition than that.

        Args:
            arrays: the arguments, as a call takes them.

        Raises:
            ArgumentError: another number of arrays than the model has arguments, or
                one of another dtype or shape.
        """
        count = len(self.tensors.names)
        if len(arrays) != count:
            raise ArgumentError(
                f"{self.name} takes {count} arrays, not {len(arrays)}",
                "give one for each argument",
            )
        self._check(arrays)
        for expected in self.tensors.expected:
            expected.check(arrays)
        known = _memory(self.tensors, arrays, self.preparation)
        for step in self.steps:
            if isinstance(step, PlainPart):
                evaluate_plainly(step, known, self.tensors)
            else:
                evaluate_part(step, known, self.tensors)
        results = [
            known.get(self.tensors.root(r), _NOTHING).reshape(shape)
            for r in self.tensors.results
            for shape in [self.tensors.all[r].shape]
        ]
        return results[0] if len(results) == 1 else tuple(results)

    def _check(self, arrays: tuple[Any, ...]) -> None:
        """Check dtypes and shapes, on which native code relies."""
        declared = {p.name: p for p in self.parameters if not p.is_output}
        for name, array in zip(self.tensors.names, arrays, strict=True):
            parameter = declared.get(name)
            plain = np.asarray(array)
            if parameter is None or (
                _same_bits(plain.dtype, parameter.dtype)
                and plain.shape in parameter.shapes
            ):
                continue
            raise ArgumentError(
                f"{parameter.role} of {self.name} has elements of {plain.dtype} and "
                f"shape {plain.shape}",
                f"give elements of {parameter.dtype} and shape {parameter.shape}",
            )

    def __str__(self) -> str:
        inputs = ", ".join(_said(p) for p in self.parameters if not p.is_output)
        results = ", ".join(_said(p) for p in self.parameters if p.is_output)
        lines = [f"{self.name}({inputs}) -> {results}"]
        specs = dict(zip(self.parts, self.specs(), strict=True))
        number = 0
        for step in self.steps:
            reads = ", ".join(map(self._named, step.inputs))
            writes = ", ".join(self._named(t) for t in step.outputs if t >= 0)
            if isinstance(step, PlainPart):
                code = step.code
                lines.append(f"  fallback: {writes} = {code.op} of {reads}")
                lines.append(f"    {code.place}: {code.reason}")
                continue
            lines.append(f"  {number}: {writes} = {specs[step]} of {reads}")
            number += 1
        return "\n".join(lines)

    def _named(self, tensor: int) -> str:
        tensor = self.tensors.root(tensor)
        tensor_value = self.tensors.all[tensor]
        if isinstance(tensor_value, Source):
            return tensor_value.name
        roots = [self.tensors.root(r) for r in self.tensors.results]
        if tensor in roots:
            return result_name(self.tensors, roots.index(tensor))
        return f"t{tensor}"

    def __repr__(self) -> str:
        return f"<model {self.name}, {counted(self.steps)}>"


_NOTHING = np.empty(0, np.float32)
"""The elements of a result that has none, which no part computes."""


def _memory(
    tensors: Tensors, arrays: tuple[Array, ...], preparation: Preparation | None
) -> dict[int, Array]:
    """The elements of what is given, by tensor, in one dimension."""
    computed = {} if preparation is None else preparation.run(dict(enumerate(arrays)))
    memory = {}
    for i, tensor in enumerate(tensors.all):
        if isinstance(tensor, Source):
            array = arrays[tensor.argument] if tensor.argument >= 0 else tensor.array
            array = computed.get(tensor.name, array)
            memory[i] = np.ascontiguousarray(array).reshape(-1)
    return memory


def _same_bits(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether two dtypes are one, but for the sign of integers: MLIR has none."""
    integers = {one.kind, other.kind} <= {"i", "u"}
    return one == other or (integers and one.itemsize == other.itemsize)


def _said(parameter: Parameter) -> str:
    shape = "x".join(map(str, parameter.shape)) or "scalar"
    return f"{parameter.name}: {shape} {parameter.dtype}"


@on_large_stack
def trusted_model(
    text: str | bytes,
    name: str | None = None,
    source: str = "model",
    weights: Iterable[int] = (),
    fallback: bool = False,
    names: Mapping[str, str] | None = None,
    rounds: bool = True,
    signature: Signature | None = None,
    expected: tuple[Expected, ...] = (),
    size: int | None = None,
    constants: Mapping[int, Array] = MappingProxyType({}),
    flushing: bool = False,
    copies: bool = False,
) -> Model:
    """Imports a program that is known to crash no parser: it was made or tried here.

    Args:
        weights: arguments that change seldom. What is computed of them alone is no part
            of a call: `Kernel.held` computes it.
        fallback: as `from_mlir` takes it.
        names: the ops' names for messages, by location; those of the text by default.
        rounds: whether casts to bf16 and f16 round; without, a value that is written
            nowhere is not rounded.
        signature: the names and signs of its arguments and results; if it is left out,
            what the text has.
        expected: what some arguments have to be in a call.
        size: of dimensions that the text leaves open.
        constants: arrays of arguments that are the same in each call, and are no
            arguments then, by number.
        flushing: as `from_mlir` takes it.
        copies: whether products of matrices may read copies of weights, in which
            what scales their results is a factor.
    """
    tensors = _imported(text, name, source, fallback, names, rounds, signature, size)
    tensors.weights, tensors.expected = frozenset(weights), expected
    tensors.flushing, tensors.copies = flushing, copies
    if constants:
        _settle(tensors, constants)
    return model_of(tensors)


def _settle(tensors: Tensors, constants: Mapping[int, Array]) -> None:
    """Make constants of arguments, in place; the others are counted anew."""
    left = [i for i in range(len(tensors.names)) if i not in constants]
    for number, tensor in enumerate(tensors.all):
        if isinstance(tensor, Source) and tensor.argument in constants:
            array = constants[tensor.argument]
            constant = dataclasses.replace(tensor, argument=-1, array=array)
            tensors.all[number] = constant
        elif isinstance(tensor, Source) and tensor.argument >= 0:
            argument = left.index(tensor.argument)
            tensors.all[number] = dataclasses.replace(tensor, argument=argument)
    tensors.names = [tensors.names[i] for i in left]


def model_of(tensors: Tensors) -> Model:
    """The parts of a DAG of tensors.

    Raises:
        ModelError: a node is no Spec by itself.
    """
    return _model(with_scaled_weights(improved(tensors)))


def _model(better: Tensors, orders: Orders = CHANNELS_LAST) -> Model:
    tensors, preparation = laid_out(better, orders)
    unturned = better if not orders and has_orders(better) else None
    return Model(tensors, grouped(tensors), preparation, (), unturned)


def whole_model(tensors: Tensors) -> Model | None:
    """A DAG of tensors as one part; None where that is no Spec."""
    better = improved(tensors)
    part = whole_part(better)
    return None if part is None else Model(better, (part,))


def _imported(
    text: str | bytes,
    name: str | None,
    source: str,
    fallback: bool = False,
    names: Mapping[str, str] | None = None,
    rounds: bool = True,
    signature: Signature | None = None,
    size: int | None = None,
) -> Tensors:
    with ir.Context(), ir.Location.unknown():
        program = read_program(text, source, fallback, name, size)
        function = chosen_function(program.module, name)
        if signature is None:
            symbol = ir.StringAttr(function.attributes["sym_name"]).value
            signature = program.signatures[symbol]
        return imported(
            function, source, names or program.names, fallback, rounds, signature
        )

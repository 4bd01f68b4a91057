"""A compiled program: a function of NumPy arrays that keeps every stage of its making.

A program is one Spec, or the Specs of a model in order, which are one function then.
"""

import dataclasses
import hashlib
import inspect
import operator
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np

from morello.compiler import kernel_file
from morello.compiler.packing import pack
from morello.compiler.pickling import Parts, Version, unpickled
from morello.errors import CompileError
from morello.lazy import cached_property
from morello.runtime.calls.function import NativeFunction
from morello.runtime.calls.parameter import Parameter, SizeAxis
from morello.runtime.engine import Engine
from morello.spec import Array, Spec, print_spec
from morello.spec.spec import MAX_SIZE

if TYPE_CHECKING:
    from morello.aot.library import Library
    from morello.aot.stages import Stages
    from morello.machine import Target
    from morello.search import Impl, Solution


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds that a kernel took to make."""

    search: float
    compile: float
    """Everything after the search: passes, LLVM, loading."""


class HeldArrays(Protocol):
    """Arrays that a kernel passes to its function besides the arguments of a call:
    constants of a model, and what is computed of its weights."""

    @property
    def title(self) -> str:
        """The model in a few words."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments of a call."""

    @property
    def constants(self) -> dict[str, Array]:
        """The arrays that are the same in each call, by the name of the parameter."""

    @property
    def argument_checks(self) -> Sequence[tuple[str, str]]:
        """The arguments that have to be something in each call, and what."""

    @property
    def fallback(self) -> tuple[Any, ...]:
        """The ops that upstream's plain lowering computes."""

    @property
    def reads(self) -> frozenset[int]:
        """The numbers of the arguments that the function reads."""

    @property
    def weights(self) -> frozenset[int]:
        """The numbers of the arguments that `arrays` depends on."""

    @property
    def copied_bytes(self) -> int:
        """Bytes of the copies of arguments that are kept in other layouts."""

    def arrays(self, weights: Mapping[int, Array]) -> tuple[Array, ...]:
        """The arrays between the arguments of a call and its results.

        Args:
            weights: C-contiguous arrays by the number of the argument.
        """

    def complete(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call and the arrays that are held, by position.

        Args:
            named: loses the arguments that follow those by position.

        Raises:
            ArgumentError: an argument is not what it has to be.
        """


class Kernel:
    """A compiled program: a function of NumPy arrays, and the stages on the way to it.

    Calling it: ``kernel(a, b)`` returns a new output, or a tuple of several;
    ``kernel(a, b, out=c)`` fills ``c``, or the arrays of a tuple. Arguments are
    C-contiguous arrays of the operands' physical shapes, without
    the batch where it may be left out and is 1; rows of an operand with a leading
    dimension are so far apart, or any distance where that is ``ld?``. Where the layout
    is a transpose, views in logical order (``w.T``) are taken too. A call releases the
    GIL, and many threads may call one kernel at a time.

    The kernel of a model has several Specs, one workspace, and the constants of the
    model (`held`).

    A kernel can be pickled: it travels to other processes, with its machine code. A
    copy is the kernel itself, which never changes.
    """

    def __init__(
        self,
        stages: "Stages | bytes",
        function: NativeFunction,
        times: Times,
        settled: tuple[int, ...] = (),
        held: HeldArrays | None = None,
    ) -> None:
        self._stages_or_bytes = stages
        self._function = function
        self._engine = function.engine
        self._settled = settled
        self._call = function.checked() if self._engine.is_loaded else function
        self.times = times
        """Seconds of the searches and of everything after them."""
        self.held = held
        """Arrays that a model brings to each call; None for a Spec."""

    @cached_property
    def _stages(self) -> "Stages":
        """The stages, which a kernel that was loaded reads when they are asked for."""
        stages = self._stages_or_bytes
        return pickle.loads(stages) if isinstance(stages, bytes) else stages

    @property
    def spec(self) -> Spec:
        """The computation of a kernel that has one Spec.

        Raises:
            CompileError: it is the kernel of a model with several.
        """
        return self._stages.spec

    @property
    def specs(self) -> tuple[Spec, ...]:
        """Each Spec, in the order in which they are computed."""
        return tuple(spec for spec, _ in self._stages.parts)

    @property
    def solutions(self) -> "tuple[Solution | None, ...]":
        """The result of the search for each of `specs`; None for a given schedule."""
        return tuple(solution for _, solution in self._stages.parts)

    @property
    def fallback(self) -> tuple[Any, ...]:
        """The ops of a model that upstream's plain lowering computes, as
        `Model.fallback`."""
        return () if self.held is None else self.held.fallback

    @property
    def constants(self) -> dict[str, Array]:
        """The arrays of a model that are the same in each call, by parameter."""
        return {} if self.held is None else self.held.constants

    @property
    def text(self) -> str:
        """The Spec in its shortest form, the layouts that were left open settled; of a
        model its title."""
        if self.held is not None:
            return self.held.title
        serial = dataclasses.replace(self.spec, serial=True)
        return print_spec(serial, self.target.limits)

    @property
    def target(self) -> "Target":
        """The target that it was compiled for."""
        return self._stages.target

    @property
    def threads(self) -> int:
        """How many threads a call uses; 1 while others keep the processors busy."""
        return self._function.threads

    @property
    def schedule(self) -> str:
        """The module that holds the Spec and its complete schedule."""
        return self._stages.schedule

    @property
    def mlir(self) -> str:
        """The module of loops and vectors that the schedule makes."""
        return self._stages.mlir

    @property
    def llvm(self) -> str:
        """The LLVM IR, optimised."""
        return self._engine.llvm

    @property
    def asm(self) -> str:
        """The assembly."""
        return self._engine.asm

    def digest(self) -> str:
        """A hash of the machine code, which arrays of several shapes may share, of what
        arrays it takes, and of those that it holds: 64 hexadecimal digits, the same in
        every process."""
        taken = self.symbol, self.threads, self.parameters
        state = hashlib.sha256(self.object + repr(taken).encode())
        for array in self.constants.values():
            state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return state.hexdigest()

    @property
    def object(self) -> bytes:
        """The ELF object; the same bytes for the same schedule and target."""
        return self._engine.object

    @property
    def impl(self) -> "Impl | None":
        """The program as a tree of decisions; None if the schedule was given."""
        return self.solution.impl if self.solution else None

    @property
    def solution(self) -> "Solution | None":
        """The result and statistics of the search; None if the schedule was given."""
        return self._stages.solution

    @property
    def filled(self) -> "tuple[Solution, ...]":
        """The programs that the search found for the holes of the given schedule."""
        return self._stages.filled

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The dtype, shape and role of each argument of the function: those of a call,
        what is `held`, and the outputs."""
        return self._function.parameters

    @property
    def symbol(self) -> str:
        """The name of the function in `llvm`, `asm` and `object`."""
        return self._function.name

    @property
    def address(self) -> int:
        """Address of the function in this process, as long as the kernel lives.

        For callers that are not Python. It takes a pointer for each of `parameters`,
        in order, and one to `workspace_bytes` bytes, aligned to 64, if there are any;
        then, as 64-bit numbers, the elements from row to row of each operand of which
        a call says it (``ld?``). It returns nothing, and checks nothing.
        """
        return self._engine.address(self.symbol)

    @property
    def __signature__(self) -> inspect.Signature:
        """Signature of a call, for `inspect.signature`."""
        whole = self._function.signature
        if self.held is None:
            return whole
        ours = {p.name for p in self.parameters if not p.is_output}
        ours -= set(self.held.arguments)
        taken = [p for name, p in whole.parameters.items() if name not in ours]
        return whole.replace(parameters=taken)

    @property
    def workspace_bytes(self) -> int:
        """Memory that a call uses besides its arguments, for each calling thread."""
        return self._function.workspace_bytes

    def cost(self) -> int:
        """The predicted cost of one call, in 1/1000 cycles.

        The cost that the search compared, or the cost of the given schedule; of a
        model the sum of its Specs.
        """
        return self._stages.cost

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; see the class.

        Raises:
            ArgumentError: an argument does not fit; the message names it.
        """
        if self.held is not None:
            args = self.held.complete(args, kwargs)
        return self._call(*args, **kwargs)

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """A function without arguments that runs it on these arrays each time.

        The arrays, given as to a call, are checked now; later calls check nothing.
        The function keeps them alive and returns the output. ``kernel.bind(a, b, out)``

        Raises:
            ArgumentError: an argument does not fit; the message names it.
        """
        if self.held is not None:
            args = self.held.complete(args, kwargs)
        return self._function.bind(*args, **kwargs)

    def pack(self, array: Array, operand: str | None = None) -> Array:
        """The argument that holds ``array`` in the layout that the kernel reads.

        Args:
            array: an input in logical order, of any strides, NumPy's or another
                library's.
            operand: its name; may be left out where one operand has a layout that was
                left open (``rhs=any``), or that is not row-major.

        Returns:
            A new array, to be used in any number of calls.

        Raises:
            ArgumentError: the array does not fit the operand, or it is not clear which
                operand is meant.
            CompileError: it is the kernel of a model with several Specs.
        """
        return pack(self.spec, self._settled, array, operand)

    def library(self, name: str | None = None) -> "Library":
        """The kernel as C and C++ programs link it; `constants` are arguments there.

        Args:
            name: of the function in C; if it is left out, one made of the Spec, or of
                the name of the model.

        Raises:
            CompileError: C has no such name, or a call of a model has to check
                arguments.
        """
        # A process that loads and calls kernels needs none of what writes C.
        from morello.aot.library import Library

        name = self._stages.name if name is None else name
        if self.held is None:
            return Library(self._stages, self.parameters, name)
        for argument, wanted in self.held.argument_checks:
            raise CompileError(
                f"input '{argument}' has to be {wanted}, which C programs do not check",
                f"read the model with constants={{'{argument}': …}}",
            )
        return Library.of_model(self._stages, self.parameters, name, self.text)

    def save(self, path: str | Path, name: str | None = None) -> None:
        """Write it for C and C++ programs, ``kernel.save("k.o")``, or for
        `morello.load`, ``kernel.save("k.kernel")``.

        Args:
            path: ends in ``.o`` (object), ``.s`` (assembly), ``.ll`` (LLVM IR), ``.h``
                (the header that goes with each of them) or ``.kernel``.
            name: of the function in C; if it is left out, one made of the Spec.

        Raises:
            CompileError: another ending, or a name that C does not have.
            FileError: it cannot be written; what was there is there.
        """
        if name is None and str(path).endswith(kernel_file.SUFFIX):
            kernel_file.save(self, path)
        else:
            self.library(name).save(path)

    def __repr__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"<kernel {self.text} for {self.target.name}, {threads}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        function, stages = self._function, self._stages_or_bytes
        parts = Parts(
            self._engine.compiled,
            function.name,
            function.parameters,
            function.workspace_bytes,
            function.threads,
            stages if isinstance(stages, bytes) else pickle.dumps(stages),
            self.times,
            self._settled,
            self.held,
        )
        return _restore, (Version(), *parts.pickled(operator.index(protocol)))

    def __copy__(self) -> "Kernel":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Kernel":
        return self


def _restore(version: Version, checksum: bytes, data: bytes, *arrays: Any) -> Kernel:
    """The kernel that was pickled, by this version.

    Raises:
        TargetError: this machine lacks a feature that it may use.
        CompileError: the bytes are not those that were pickled.
    """
    parts = unpickled(checksum, data, arrays)
    function = parts.function()
    return Kernel(parts.stages, function, parts.times, parts.settled, parts.held)


def bound_apart(kernel: Kernel, arguments: Sequence[Array]) -> Callable[[], Any]:
    """`Kernel.bind`, with a workspace that no other call has.

    Raises:
        ArgumentError: an argument does not fit.
    """
    every = kernel.parameters
    return native_function(kernel._stages, kernel._engine, every).bind(*arguments)


def native_function(
    stages: "Stages", engine: Engine, every: tuple[Parameter, ...]
) -> NativeFunction:
    """The function of arrays of compiled stages."""
    return NativeFunction(
        engine, stages.name, every, stages.workspace_bytes, stages.threads
    )


def parameters(spec: Spec) -> tuple[Parameter, ...]:
    """The arguments of a kernel for ``spec``, in order."""
    arguments = []
    for index, (operand, tensor) in enumerate(
        zip(spec.kind.operands, spec.tensors, strict=True)
    ):
        shape = spec.physical_shape(index)
        optional = spec.kind.optional_dims
        drops = range(1, optional + 1) if optional and shape[0] == 1 else ()
        has_leading = bool(spec.leading and spec.leading[index])
        row = shape[-1] + 1 if spec.has_any_row(index) else 0
        arguments.append(
            Parameter(
                operand.name,
                tensor.dtype.numpy,
                shape,
                tuple(shape[count:] for count in drops),
                operand.is_written,
                operand.is_written and operand.is_read,
                spec.strides(index, row) if has_leading else (),
                _logical_views(spec, index, row),
                row,
                _size_axes(spec, index),
            )
        )
    return tuple(arguments)


def _size_axes(spec: Spec, index: int) -> tuple[SizeAxis, ...]:
    """The dimensions of an operand whose size each call says."""
    operand, size_axes = spec.kind.operands[index], []
    for number, (one, greatest) in enumerate(
        zip(spec.ranges, spec.greatest, strict=True)
    ):
        dims = [dim for dim in one.dims if dim in operand.dims]
        if dims:
            axes = tuple(sorted(map(operand.axis, dims)))
            name, sizes = spec.kind.dims[dims[0]], one.sizes(greatest)
            if one.is_open:
                sizes = range(one.least, MAX_SIZE, one.step)
            size_axes.append(SizeAxis(name, axes, sizes, number, one.is_open))
    return tuple(size_axes)


def _logical_views(
    spec: Spec, index: int, row: int
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The shapes and strides, in elements, of an operand in logical order.

    With rows ``row`` elements apart, where a call says it.
    None where it lies so anyway, or where packs leave it without strides.
    """
    layout = spec.tensors[index].layout
    if layout.is_row_major or layout.is_packed:
        return ()
    shape = spec.shape(index)
    strides = spec.strides(index, row)
    steps = dict(zip((d.dim for d in layout.dims), strides, strict=True))
    logical = tuple(steps[axis] for axis in range(len(shape)))
    optional = spec.kind.optional_dims if shape[0] == 1 else 0
    return tuple((shape[n:], logical[n:]) for n in range(optional + 1))

"""Machine code as a Python function on NumPy arrays.

`NativeFunction` is the entry point. A call checks its arrays, takes a workspace that no
other call uses, and runs the code with the GIL released; so many threads may call one
function at a time. It takes 3 µs of Python; `checked` gives a function that does the
same by machine code, and leaves to this one what is unusual or wrong.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello import new_arrays
from morello.errors import ArgumentError
from morello.lazy import cached_property
from morello.runtime.calls import array_layout, machine_call
from morello.runtime.calls.arguments import ArgumentChecker
from morello.runtime.calls.call_size import call_sizes
from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.foreign_arrays import quickly_shared, shared, told_shape
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import Engine


class NativeFunction:
    """A compiled function of NumPy arrays.

    The native function takes a pointer for each parameter, inputs then outputs; then a
    pointer to the workspace if it has one; the size that a call says; then the elements
    from row to row of each parameter whose rows may be any distance apart. It is kept
    alive by this object.

    Args:
        engine: holds the code.
        name: of the function in it.
        parameters: inputs first, then outputs.
        workspace_bytes: size of its workspace, 64-byte aligned; 0 for none.
        threads: the most that a call uses, by OpenMP. While other functions keep the
            processors busy it uses one.

    Raises:
        CompileError: the engine has no such function.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        parameters: tuple[Parameter, ...],
        workspace_bytes: int = 0,
        threads: int = 1,
    ) -> None:
        if workspace_bytes < 0:
            raise ValueError(f"a workspace of {workspace_bytes} bytes")
        self.name = name
        self.parameters = parameters
        self.workspace_bytes = workspace_bytes
        self.threads = threads
        self.engine = engine
        self._checker = ArgumentChecker(parameters)
        self._sizes = call_sizes(parameters)
        self._inputs = sum(not parameter.is_output for parameter in parameters)
        self._outputs = parameters[self._inputs :]
        inputs = parameters[: self._inputs]
        self._said = {axis.number for one in inputs for axis in one.sizes}
        """The sizes of a call that its inputs say."""
        self._shorter = [
            (place, parameter.shorter)
            for place, parameter in enumerate(parameters[: self._inputs])
            if parameter.alternatives
        ]
        self._may_allocate = not any(output.accumulates for output in self._outputs)
        if engine.is_loaded:
            engine.address(name)

    @cached_property
    def _table(self) -> CallTable:
        """The arguments of each call that are not arrays.

        Raises:
            TargetError, CompileError: as `Engine.load`.
        """
        address = self.engine.address(self.name)
        return CallTable(address, self.parameters, self.workspace_bytes, self.threads)

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters)
        return f"<native function {self.name}({names})>"

    @property
    def signature(self) -> inspect.Signature:
        """Signature of a call. An output that is left out, or named as None, is
        a new array, unless it is added to."""
        taken = [
            inspect.Parameter(
                parameter.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=None
                if parameter.is_output and self._may_allocate
                else inspect.Parameter.empty,
            )
            for parameter in self.parameters
        ]
        if "out" not in [parameter.name for parameter in self.parameters]:
            taken.append(
                inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
            )
        return inspect.Signature(taken)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function.

        Args:
            args: the inputs, in order; then, if wanted, the outputs.
            kwargs: arguments by name; ``out`` is the output, or a tuple of all, or
                None for new arrays.

        Returns:
            The output that was given, or a new array; a tuple of several outputs.

        Raises:
            ArgumentError: names the argument that does not fit.
        """
        arrays = self._arrays(args, kwargs)
        self.run(self._shared(arrays))
        results = arrays[self._inputs :]
        return results[0] if len(results) == 1 else tuple(results)

    def checked(self) -> Callable[..., Any]:
        """A function that takes what this one takes, and answers and refuses the same.

        Where all arrays are given, and are plain ones that fit, Python does no work;
        where the output is not, it only makes one. It is this function itself where it
        has several outputs, or where this NumPy is not one that machine code can read.
        """
        if len(self._outputs) != 1 or not array_layout.is_known():
            return self
        plain = machine_call.checked(self._table, self)
        count, inputs = len(self.parameters), self._inputs
        output, may_allocate = self._outputs[0], self._may_allocate

        def share(*args: Any) -> Any:
            shared = quickly_shared(args)
            if shared is None:
                return self(*args)
            plain(*shared)
            return args[-1]

        with_new_output = machine_call.checked(self._table, share)

        def call(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                if len(args) == count:
                    return share(*args)
                if len(args) == inputs and may_allocate:
                    return with_new_output(*args, self._new_output(output, args))
            elif len(kwargs) == 1 and len(args) == inputs:
                out = kwargs.get("out")
                if out is not None:
                    return share(*args, out)
            return self(*args, **kwargs)

        return machine_call.checked(self._table, call)

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """A function without arguments that runs this one on these arrays each time.

        Args:
            args, kwargs: as for a call; they are checked now and kept alive.

        Returns:
            A function that returns what a call returns.

        Raises:
            ArgumentError: names the argument that does not fit.
        """
        arrays = self._arrays(args, kwargs)
        shared = self._shared(arrays)
        addresses = self._checker.check(shared)
        results = arrays[self._inputs :]
        result = results[0] if len(results) == 1 else tuple(results)
        return machine_call.bound(
            self._table, addresses, result, (self, arrays, shared)
        )

    def run(self, arrays: list[Any]) -> None:
        """Run the function on arrays for all parameters, in order.

        Raises:
            ArgumentError: names the argument that does not fit.
            MemoryError: for the workspace.
        """
        machine_call.run(self._table, self._checker.check(arrays))

    def _arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The array of each parameter; outputs that are not given are made.

        Raises:
            ArgumentError: too many, missing, unknown or repeated arguments.
        """
        out = kwargs.get("out")
        if out is not None and len(kwargs) == 1 and len(args) == self._inputs:
            return [*args, *self._outs(out)]
        if not kwargs and len(args) == len(self.parameters):
            return list(args)
        if not kwargs and len(args) == self._inputs and self._may_allocate:
            new = [self._new_output(output, args) for output in self._outputs]
            return [*args, *new]
        return self._by_position(args, kwargs)

    def _shared(self, arrays: list[Any]) -> list[Any]:
        """Arguments as NumPy arrays; those of other libraries share their memory.

        Raises:
            ArgumentError: the memory of one cannot be shared.
        """
        return [
            array if isinstance(array, np.ndarray) else shared(array, parameter)
            for array, parameter in zip(arrays, self.parameters, strict=True)
        ]

    def _outs(self, out: Any) -> tuple[Any, ...]:
        """Split ``out`` into one array for each output.

        Raises:
            ArgumentError: not a tuple of as many as there are outputs.
        """
        if len(self._outputs) == 1:
            return (out,)
        if isinstance(out, tuple) and len(out) == len(self._outputs):
            return out
        names = ", ".join(parameter.name for parameter in self._outputs)
        raise ArgumentError(
            f"'out' does not hold an array for each of the {len(self._outputs)} "
            f"outputs of {self.name}",
            f"give a tuple ({names})",
        )

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Sort the arguments of a call in any form by their positions.

        Raises:
            ArgumentError: too many, missing, unknown or repeated arguments.
        """
        if len(args) > len(self.parameters):
            raise ArgumentError(
                f"{self.name} takes {len(self.parameters)} arguments, {len(args)} were "
                "given",
                self._usage(),
            )
        named = {p.name: a for p, a in zip(self.parameters, args, strict=False)}
        for name, array in self._by_name(kwargs).items():
            if name in named:
                raise ArgumentError(f"'{name}' is given twice", self._usage())
            named[name] = array
        return self._complete(named)

    def _by_name(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments with ``out`` replaced by the names of the outputs."""
        names = {parameter.name for parameter in self.parameters}
        pairs = [(name, array) for name, array in kwargs.items() if name != "out"]
        out = kwargs.get("out")
        if out is not None:
            outs = [parameter.name for parameter in self._outputs]
            pairs += zip(outs, self._outs(out), strict=True)
        arrays: dict[str, Any] = {}
        for name, array in pairs:
            if name not in names:
                raise ArgumentError(
                    f"{self.name} has no argument '{name}'", self._usage()
                )
            if name in arrays:
                raise ArgumentError(f"'{name}' is given twice", self._usage())
            arrays[name] = array
        return arrays

    def _complete(self, named: dict[str, Any]) -> list[Any]:
        """The arrays in order, with new ones for the outputs that are missing."""
        arrays = []
        for parameter in self.parameters:
            array = named.get(parameter.name)
            if array is not None or (
                parameter.name in named and not parameter.is_output
            ):
                arrays.append(array)
            elif not parameter.is_output:
                raise ArgumentError(f"{parameter.role} is missing", self._usage())
            elif parameter.accumulates:
                raise ArgumentError(
                    f"{parameter.role} is missing, and {self.name} adds to what it "
                    "holds",
                    "give the array to add to as out=",
                )
            else:
                arrays.append(self._new_output(parameter, arrays[: self._inputs]))
        return arrays

    def _new_output(
        self, output: Parameter, inputs: Sequence[Any]
    ) -> np.ndarray[Any, Any]:
        """A new array of the full shape, or of a shorter one if all inputs came so.

        As in NumPy, a product of 2-D arrays is 2-D. An input that is no array, or of a
        shape that does not fit, is left for the check to refuse.
        """
        shape = output.shape
        if output.alternatives and self._all_are_shorter(inputs):
            shape = output.alternatives[0]
        if self._sizes is not None:
            for axis in output.sizes:
                if axis.number not in self._said:
                    raise ArgumentError(
                        f"{output.role} is missing, and no input says {axis.name}",
                        "give the array to write as out=",
                    )
            sizes = self._sizes.of([_shape(array) for array in inputs])
            shape = output.resized(shape, sizes)
        if output.strides and not output.any_row:
            strides = output.strides[len(output.shape) - len(shape) :]
            return new_arrays.strided(shape, strides, output.dtype)
        return new_arrays.empty(shape, output.dtype)

    def _all_are_shorter(self, inputs: Sequence[Any]) -> bool:
        for place, shapes in self._shorter:
            shape = _shape(inputs[place])
            if self.parameters[place].sizes:
                if shape is None or len(shape) == len(self.parameters[place].shape):
                    return False
            elif shape not in shapes:
                return False
        return bool(self._shorter)

    def _usage(self) -> str:
        inputs = ", ".join(p.name for p in self.parameters[: self._inputs])
        return f"call it as {self.name}({inputs}{', ' if inputs else ''}out=...)"


def _shape(array: Any) -> tuple[int, ...] | None:
    """The shape that an array of any library says it has; None of what is no array."""
    shape: tuple[int, ...] | None = getattr(array, "shape", None)
    return told_shape(array) if shape is None else shape

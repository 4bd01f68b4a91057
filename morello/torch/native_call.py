"""A compiled model as a function of PyTorch's tensors."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import torch
import xxhash

from morello.compiler.kernel import HeldArrays, Kernel
from morello.frontends.grouping.group_dims import row_major
from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.machine_call import on_addresses

address_of: Callable[[Any], int] = torch.Tensor.data_ptr


@dataclasses.dataclass(frozen=True)
class _Held:
    """Arrays that were computed of weights, and the state of the weights then."""

    state: Any
    arrays: tuple[Any, ...]
    addresses: tuple[int, ...]
    """The addresses of the arrays."""
    aliases: tuple[Any, ...]
    """Aliases of the weights: they keep the memory, so that it is not given away."""


class Weights:
    """Caches arrays that are computed of weights, until these change.

    Args:
        places: the positions of a group's arguments that are these weights.
        freeze: believe PyTorch's counters of changes. Otherwise each call reads the
            bytes of the weights: changes through ``.data``, NumPy, or another process
            are in no counter.
    """

    def __init__(self, model: HeldArrays, places: Sequence[int], freeze: bool) -> None:
        self._model = model
        self._places = tuple(places)
        self._freeze = freeze
        self._views: tuple[list[int], list[Any]] = [], []
        self._held = _Held(None, (), (), ()) if places else self._computed(None, [])

    def held(self, tensors: Sequence[Any]) -> _Held:
        """The arrays for the weights as they are now, which must outlive the call."""
        held = self._held
        if not self._places:
            return held
        weights = [tensors[place] for place in self._places]
        state = self._state(weights)
        if state != held.state:
            held = self._held = self._computed(state, weights)
        return held

    def _computed(self, state: Any, weights: Sequence[Any]) -> _Held:
        elements = [array_of(weight.detach().contiguous()) for weight in weights]
        arrays = self._model.arrays(dict(zip(self._places, elements, strict=True)))
        addresses = tuple(int(array.ctypes.data) for array in arrays)
        aliases = tuple(weight.detach() for weight in weights)
        return _Held(state, arrays, addresses, aliases)

    def _state(self, weights: list[Any]) -> Any:
        """Whatever is another one when a weight has changed."""
        if self._freeze and not any(map(torch.Tensor.is_inference, weights)):
            return [*map(address_of, weights)], [weight._version for weight in weights]
        digest = xxhash.xxh3_128()
        for elements in self._elements(weights):
            digest.update(elements)
        return digest.digest()

    def _elements(self, weights: list[Any]) -> list[Any]:
        """The memory of each weight; of a weight with gaps that of a copy."""
        addresses = [*map(address_of, weights)]
        known, views = self._views
        if addresses != known:
            whole = [weight.detach().contiguous() for weight in weights]
            views = [array_of(weight).reshape(-1).view("u1") for weight in whole]
            if addresses == [*map(address_of, whole)]:
                self._views = addresses, views
        return views


def array_of(tensor: Any) -> Any:
    """The memory of a tensor without gaps as an array."""
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


class NativeCall:
    """Calls a program on a group's tensors.

    Args:
        compiled: the program.
        results: tensors like its results, and whether they come in a tuple.
        places: which of its arguments are weights.
        guarded: which of them have no gaps, as others check.
        freeze: as `Weights` takes it.
    """

    def __init__(
        self,
        compiled: Kernel,
        results: tuple[Any, bool],
        places: Sequence[int],
        guarded: Sequence[int] = (),
        freeze: bool = False,
    ) -> None:
        outputs, self._several = results
        self.compiled = compiled
        model = compiled.held
        assert model is not None
        read = [place for place in places if place in model.weights]
        self.weights = Weights(model, read, freeze)
        self._forms = [(tuple(o.shape), _strides(o.shape), o.dtype) for o in outputs]
        self._as_eager = with_eager_strides(outputs)
        self._loose = sorted(model.reads.difference(guarded))
        table = CallTable(
            compiled.address,
            compiled.parameters,
            compiled.workspace_bytes,
            compiled.threads,
        )
        self._run = on_addresses(table)

    def __call__(self, *tensors: Any) -> Any:
        """Runs the program; returns the group's result, or a tuple of several."""
        held = self.weights.held(tensors)
        inputs = list(tensors)  # a copy lives until the end of the call
        for place in self._loose:
            inputs[place] = inputs[place].contiguous()
        results = [empty_strided(*form) for form in self._forms]
        self._run(*map(address_of, inputs), *held.addresses, *map(address_of, results))
        self._as_eager(results)
        return tuple(results) if self._several else results[0]


class SizedCall(NativeCall):
    """Calls a program on tensors, one size of which each call says.

    Args:
        compiled, results, places, guarded, freeze: as `NativeCall` takes them; the
            results have the greatest size.
    """

    def __init__(self, compiled: Kernel, *args: Any, **kwargs: Any) -> None:
        super().__init__(compiled, *args, **kwargs)
        dims = [
            tuple(axis for size in p.sizes for axis in size.axes)
            for p in compiled.parameters
        ]
        self._from, self._dim = next((i, d[0]) for i, d in enumerate(dims) if d)
        """The first tensor that has the size, and its dimension."""
        self._varying = dims[len(dims) - len(self._forms) :]
        self._forms_at: dict[int, list[Any]] = {}
        """The forms of the results in calls of each size before."""

    def __call__(self, *tensors: Any) -> Any:
        """Runs the program; returns the group's result, or a tuple of several."""
        held = self.weights.held(tensors)
        inputs = list(tensors)  # a copy lives until the end of the call
        for place in self._loose:
            inputs[place] = inputs[place].contiguous()
        size = inputs[self._from].shape[self._dim]
        forms = self._forms_at.get(size)
        if forms is None:
            each = zip(self._varying, self._forms, strict=True)
            forms = [
                (*_at_size(shape, strides, factors, size), dtype)
                for factors, (shape, strides, dtype) in each
            ]
            self._forms_at[size] = forms
        results = [empty_strided(*form) for form in forms]
        outputs = map(address_of, results)
        self._run(*map(address_of, inputs), *held.addresses, *outputs, size)
        return tuple(results) if self._several else results[0]


def _at_size(
    shape: tuple[int, ...], strides: tuple[int, ...], dims: tuple[int, ...], size: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and the strides of a result without gaps, some dimensions of a size."""
    for dim in dims:
        shape = (*shape[:dim], size, *shape[dim + 1 :])
    return shape, _strides(shape) if any(dims) else strides


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(row_major(shape))


def _empty_strided(shape: Any, strides: Any, dtype: torch.dtype) -> Any:
    return torch.empty_strided(shape, strides, dtype=dtype)


empty_strided: Callable[..., Any]
empty_strided = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", _empty_strided)
"""A new tensor, as code of Inductor makes it: in half the time where PyTorch has it."""


def with_eager_strides(outputs: Sequence[Any]) -> Callable[[list[Any]], None]:
    """Gives results the strides of tensors that are like eager's, in place."""
    wanted = [(tuple(output.shape), output.stride()) for output in outputs]
    odd = [i for i, output in enumerate(outputs) if not output.is_contiguous()]

    def change(results: list[Any]) -> None:
        for place in odd:
            whole = torch.empty_strided(*wanted[place], dtype=outputs[place].dtype)
            results[place] = whole.copy_(results[place])

    return change

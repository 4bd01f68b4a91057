"""A compiled model as a function of PyTorch's tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

from morello.frontends.compiled_model import CompiledModel
from morello.frontends.group_dims import row_major
from morello.runtime.address_call import address_call
from morello.runtime.call_table import CallTable
from morello.torch.group_call import NOTE, Seen, group_call


class Weights:
    """What a program reads of weights, computed again when these have changed.

    Args:
        places: which of a group's arguments are weights; none where nothing is computed
            of them.
    """

    def __init__(self, compiled: CompiledModel, places: Sequence[int]) -> None:
        self._compiled = compiled
        self._places = tuple(places)
        notes = np.zeros(NOTE * len(self._places), np.int64)
        self.box: list[Seen] = [(notes, np.zeros(0, np.int64), (), ())]
        """What was seen last, in a list, which machine code reads."""
        if not self._places:
            self._note([], compiled.held({}))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the program takes after its arguments."""
        return tuple(self.box[0][2])

    def look(self, tensors: Sequence[Any]) -> Seen:
        """Compute it anew, unless the weights are those of the call before."""
        given = [tensors[place] for place in self._places]
        seen = self.box[0]
        if given and not np.array_equal(self._notes(given), seen[0]):
            arrays = {
                place: array_of(tensor.detach().contiguous())
                for place, tensor in zip(self._places, given, strict=True)
            }
            seen = self._note(given, self._compiled.held(arrays))
        return seen

    def _note(self, given: list[Any], arrays: tuple[Any, ...]) -> Seen:
        addresses = [int(array.ctypes.data) for array in arrays]
        words = np.array(addresses, np.int64)
        # Kept, so that no other has the address of one of them, or of its storage.
        kept = [(tensor, tensor.detach()) for tensor in given]
        self.box[0] = (self._notes(given), words, arrays, kept)
        return self.box[0]

    def _notes(self, given: Sequence[Any]) -> Any:
        words = [
            word
            for place, tensor in zip(self._places, given, strict=True)
            for word in (
                place,
                id(tensor),
                tensor.untyped_storage()._cdata,
                tensor.storage_offset(),
                _version(tensor),
            )
        ]
        return np.array(words, np.int64)


def array_of(tensor: Any) -> Any:
    """The memory of a tensor without gaps as an array."""
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


_uncounted = 0


def _version(tensor: Any) -> int:
    """The counter of changes; another number at each call of tensors without one, and
    of those that machine code does not read."""
    if tensor.is_inference() or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        global _uncounted
        _uncounted -= 1
        return _uncounted
    return int(tensor._version)


class NativeCall:
    """Calls a program on a group's tensors.

    Args:
        compiled: the program.
        results: tensors like its results, and whether they come in a tuple.
        count: of its arguments.
        places: which of its arguments are weights.
        guarded: which of them have no gaps, as others check.
    """

    def __init__(
        self,
        compiled: CompiledModel,
        results: tuple[Any, bool],
        count: int,
        places: Sequence[int],
        guarded: Sequence[int] = (),
    ) -> None:
        outputs, several = results
        self.compiled = compiled
        held_of = compiled.held_of
        self.weights = Weights(compiled, [p for p in places if p in held_of])
        self._forms = [(tuple(o.shape), _strides(o.shape), o.dtype) for o in outputs]
        table = CallTable(
            compiled.address,
            compiled.parameters,
            compiled.workspace_bytes,
            compiled.threads,
        )
        has_workspace, has_threads = compiled.workspace_bytes > 0, compiled.threads > 1
        self._run = address_call(table, has_workspace, has_threads)
        plain = group_call(
            table,
            compiled.reads,
            len(compiled.parameters) - count - len(outputs),
            self._forms,
            _empty,
            self.weights.box,
            self._slow,
            has_workspace=has_workspace,
            has_threads=has_threads,
        )
        loose = tuple(place for place in range(count) if place not in guarded)
        self.function = _around(plain, loose, outputs, several)
        """Of tensors; what the group returns."""

    def _slow(self, *tensors: Any) -> tuple[Any, ...]:
        """Call it, with all that depends on weights as these are now.

        Args:
            tensors: without gaps.
        """
        seen = self.weights.look(tensors)
        made = [_empty(*form) for form in self._forms]
        address = torch.Tensor.data_ptr
        self._run(*map(address, tensors), *seen[1].tolist(), *map(address, made))
        return tuple(made)


def _around(
    plain: Callable[..., Any],
    loose: Sequence[int],
    outputs: Sequence[Any],
    several: bool,
) -> Callable[..., Any]:
    """A function of tensors that may have gaps, which returns what eager does."""
    if not loose and several and all(output.is_contiguous() for output in outputs):
        return plain
    as_eager = given_strides(outputs)

    def call(*tensors: Any) -> Any:
        # Kept until the end: a copy is freed with its last reference.
        own = list(tensors)
        for place in loose:
            own[place] = own[place].contiguous()
        made = list(plain(*own))
        as_eager(made)
        return tuple(made) if several else made[0]

    return call


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(row_major(shape))


def _empty_strided(shape: Any, strides: Any, dtype: torch.dtype) -> Any:
    return torch.empty_strided(shape, strides, dtype=dtype)


_empty: Callable[..., Any]
_empty = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", _empty_strided)
"""A new tensor, as code of Inductor makes it: in half the time where PyTorch has it."""


def given_strides(outputs: Sequence[Any]) -> Callable[[list[Any]], None]:
    """Gives results the strides of tensors that are like eager's, in place."""
    wanted = [(tuple(output.shape), output.stride()) for output in outputs]
    odd = [i for i, output in enumerate(outputs) if not output.is_contiguous()]

    def change(made: list[Any]) -> None:
        for place in odd:
            whole = torch.empty_strided(*wanted[place], dtype=outputs[place].dtype)
            made[place] = whole.copy_(made[place])

    return change

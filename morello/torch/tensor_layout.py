"""Where PyTorch keeps the address and the version of a tensor, found by experiment.

A call has to see whether a weight was changed. PyTorch's own functions for that take 50
ns for each of a hundred tensors; the same by machine code, from where PyTorch keeps it,
takes three. No interface promises these places, so nothing is assumed of them: `layout`
compares what lies in some tensors with what PyTorch says of them, and where that is not
clear, calls ask PyTorch.

    object -> TensorImpl -> StorageImpl -> first byte of the storage
                         -> elements before the first one of the tensor
                         -> counter of changes -> version
"""

import ctypes
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

_IMPL_WORDS = 23
"""Of a ``TensorImpl``, which has at least so many."""
_STORAGE_WORDS = 6
_COUNTER_BYTES = 24


@dataclasses.dataclass(frozen=True)
class Layout:
    """Places in bytes from the begin of the object that has them."""

    impl: int
    """In the Python object: the pointer to the ``TensorImpl``."""
    storage: int
    """In that: the pointer to the ``StorageImpl``."""
    data: int
    """In that: the pointer to its first byte."""
    offset: int
    """In the ``TensorImpl``: elements before the first one, a word."""
    counter: int
    """In the ``TensorImpl``: the pointer to the counter of changes; null for tensors
    of inference mode, which have none."""
    version: int
    """In the counter: 32 bits."""

    def read(self, tensor: Any) -> tuple[int, int]:
        """The address and the version of a tensor, as a call reads them."""
        impl = _word(id(tensor) + self.impl)
        storage = _word(impl + self.storage)
        elements = _word(impl + self.offset)
        counter = _word(impl + self.counter)
        address = _word(storage + self.data) + elements * tensor.element_size()
        return address, _int(counter + self.version)


@functools.cache
def layout() -> Layout | None:
    """The layout of this PyTorch; None if it is not as the module says."""
    with torch.inference_mode(False), torch.no_grad():
        try:
            found = _found(_probes())
            if found is not None and _holds(found):
                return found
        except (AttributeError, RuntimeError, StopIteration):
            pass
        return None


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _int(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def _probes() -> list[Any]:
    """Tensors that differ in all that is looked for."""
    found = []
    for place, changes in ((13, 3), (29, 8), (101, 1), (57, 21)):
        tensor = torch.zeros(200, device="cpu")[place : place + 7]
        for _ in range(changes):
            tensor.add_(1)
        found.append(tensor)
    return found


def _places(
    objects: Sequence[int],
    length: int,
    wanted: Sequence[int],
    read: Callable[[int], int] = _word,
    step: int = 8,
) -> Iterable[int]:
    """Where each object has what is wanted of it."""
    return (
        place
        for place in range(step, length, step)
        if all(
            read(own + place) == value
            for own, value in zip(objects, wanted, strict=True)
        )
    )


def _only(places: Iterable[int]) -> int:
    """The one place.

    Raises:
        StopIteration: there are several, or none.
    """
    found = list(places)
    if len(found) != 1:
        raise StopIteration
    return found[0]


def _found(probes: Sequence[Any]) -> Layout | None:
    base: Any = torch._C.TensorBase
    impls = [tensor._cdata for tensor in probes]
    impl = _only(_places([*map(id, probes)], base.__basicsize__, impls))
    size = 8 * _IMPL_WORDS
    stores = [tensor.untyped_storage() for tensor in probes]
    storages = [store._cdata for store in stores]
    storage = _only(_places(impls, size, storages))
    starts = [store.data_ptr() for store in stores]
    data = next(iter(_places(storages, 8 * _STORAGE_WORDS, starts)))
    offset = _only(_places(impls, size, [t.storage_offset() for t in probes]))
    # A detached tensor shares the counter, and `.data` has another.
    counters = _only(
        place
        for place in range(8, size, 8)
        if place != storage and all(_has_counter(t, place) for t in probes)
    )
    counts = [_word(own + counters) for own in impls]
    versions = [tensor._version for tensor in probes]
    version = _only(_places(counts, _COUNTER_BYTES, versions, _int, 4))
    return Layout(impl, storage, data, offset, counters, version)


def _has_counter(tensor: Any, place: int) -> bool:
    detached, other = tensor.detach(), tensor.data
    own = _word(tensor._cdata + place)
    same, unlike = (_word(t._cdata + place) for t in (detached, other))
    return own != 0 and own == same and own != unlike


def _holds(found: Layout) -> bool:
    """Whether it holds for weights, before and after changes."""
    weight = torch.nn.Parameter(torch.ones(3, 5))
    seen = [found.read(weight)]
    weight.add_(1)
    seen.append(found.read(weight))
    weight.data = torch.ones(2, 3, 5)[1]
    seen.append(found.read(weight))
    wanted = weight.data_ptr(), weight._version
    return seen[0][0] == seen[1][0] and seen[0][1] < seen[1][1] and seen[2] == wanted

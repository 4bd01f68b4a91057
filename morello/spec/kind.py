"""What a kind of Spec is: dimensions, operands, meaning, work and random inputs.

Each kind is a frozen dataclass in a module of its own; `kinds.py` lists them.
"""

import dataclasses
import itertools
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from morello.errors import SpecError
from morello.spec.dtypes import Dtype

Array = np.ndarray[Any, np.dtype[Any]]

EXACT_BOUND = 4
"""Random inputs are integers in [-4, 4]: every f32 partial sum of up to 2^20 products
of two is exact, whatever its order, so kernels can be compared bit for bit."""


@dataclasses.dataclass(frozen=True)
class Operand:
    """One operand of a kind."""

    name: str
    dims: tuple[int, ...]
    """Which dimensions of the Spec are its own, in its logical order."""
    is_read: bool
    is_written: bool


@dataclasses.dataclass(frozen=True)
class Kind(ABC):
    """One kind of Spec. Fields of a subclass are what the text form calls options."""

    name: ClassVar[str]
    """The name of the operation in the dialect and in the text form."""
    option_names: ClassVar[tuple[str, ...]] = ()
    """The options that the text form may give it."""

    @property
    @abstractmethod
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Operand, ...]:
        """The operands, inputs first."""

    @property
    def label(self) -> str:
        """The name in the text form."""
        return self.name

    @property
    def options(self) -> dict[str, str]:
        """Those of `option_names` that the text form must give, with their values."""
        return {}

    @property
    def reductions(self) -> tuple[int, ...]:
        """The dimensions that no written operand has."""
        return _reductions(self.operands, len(self.dims))

    @property
    def accumulates(self) -> bool:
        """Whether the output is read: parts of a reduction can be added to it."""
        return all(o.is_read for o in self.operands if o.is_written)

    @property
    def optional_dims(self) -> int:
        """How many leading dimensions the text form may leave out (they are 1)."""
        return 0

    def dtypes(self, given: tuple[Dtype, ...]) -> tuple[Dtype, ...]:
        """The dtype of each operand, from one for all or one each.

        Raises:
            SpecError: another number of dtypes, or a mix that the kind does not have.
        """
        count = len(self.operands)
        full = given * count if len(given) == 1 else given
        if len(full) != count:
            names = ",".join(o.name for o in self.operands)
            raise SpecError(
                f"{self.label} has {count} operands ({names}) but {len(given)} dtypes",
                "give one dtype, or one for each operand",
            )
        self.check_dtypes(full)
        return full

    @abstractmethod
    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Refuse a mix of dtypes that has no meaning (`SpecError`)."""

    def legal_dtypes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Every mix of dtypes that has a meaning."""
        return _legal_dtypes(self)

    @property
    def wraps(self) -> bool:
        """Whether an integer output is the exact result modulo 2^bits.

        Then it may be computed in a wider integer and cut off at the end.
        """
        return False

    def may_widen(self, dtypes: tuple[Dtype, ...], operand: int, dtype: Dtype) -> bool:
        """Whether the Spec means the same with one operand in a wider dtype.

        An input may take one that holds all its values; an integer output one from
        which the result is cut off, if the kind `wraps`.
        """
        return _may_widen(self, dtypes, operand, dtype)

    def grain(self, dim: int) -> int:
        """What parts of a dimension begin at multiples of: 1 where anywhere is right.

        A reduction that is defined on groups of neighbours must not be cut inside one.
        """
        return 1

    @abstractmethod
    def flops(self, sizes: tuple[int, ...]) -> int:
        """The arithmetic operations of the definition; 0 for data movement."""

    @abstractmethod
    def evaluate(self, dtypes: tuple[Dtype, ...], arrays: tuple[Array, ...]) -> Array:
        """The definition, in NumPy: the output for all operands in logical order.

        ``arrays`` holds the inputs and, where the kind reads its output, the output.
        """

    def random(
        self,
        rng: np.random.Generator,
        dtypes: tuple[Dtype, ...],
        shapes: tuple[tuple[int, ...], ...],
    ) -> tuple[Array, ...]:
        """Arrays for every operand that is read, in order, for exact comparison."""
        return tuple(
            small_integers(rng, dtype, shape)
            for o, dtype, shape in zip(self.operands, dtypes, shapes, strict=True)
            if o.is_read
        )


@lru_cache(maxsize=256)
def _legal_dtypes(kind: Kind) -> tuple[tuple[Dtype, ...], ...]:
    mixes = itertools.product(Dtype, repeat=len(kind.operands))
    return tuple(mix for mix in mixes if _is_legal(kind, mix))


def _is_legal(kind: Kind, dtypes: tuple[Dtype, ...]) -> bool:
    try:
        kind.check_dtypes(dtypes)
    except SpecError:
        return False
    return True


@lru_cache(maxsize=4096)
def _may_widen(
    kind: Kind, dtypes: tuple[Dtype, ...], operand: int, dtype: Dtype
) -> bool:
    own = dtypes[operand]
    if not own.widens_to(dtype):
        return False
    if kind.operands[operand].is_written and (own.is_float or not kind.wraps):
        return False
    return _is_legal(kind, (*dtypes[:operand], dtype, *dtypes[operand + 1 :]))


@lru_cache(maxsize=256)
def _reductions(operands: tuple[Operand, ...], dims: int) -> tuple[int, ...]:
    kept = {d for o in operands if o.is_written for d in o.dims}
    return tuple(i for i in range(dims) if i not in kept)


def small_integers(
    rng: np.random.Generator, dtype: Dtype, shape: tuple[int, ...]
) -> Array:
    """Integers in [-4, 4] (in [0, 8] for unsigned dtypes), as ``dtype``."""
    low = -EXACT_BOUND if dtype.is_float or dtype.is_signed else 0
    values = rng.integers(low, low + 2 * EXACT_BOUND, shape, np.int8, endpoint=True)
    if dtype.byte:
        return dtype.stored(values.astype(np.int64))
    return values.astype(dtype.numpy)


def bit_patterns(
    rng: np.random.Generator, dtype: Dtype, shape: tuple[int, ...]
) -> Array:
    """Arbitrary bit patterns of ``dtype``, NaN payloads included.

    Of bytes in 16 bits those that stand for a byte.
    """
    if dtype.byte:
        return rng.integers(0, 256, shape, np.uint16)
    if dtype.part_of:
        low = int(dtype.lowest)
        return rng.integers(low, -low, shape, dtype.numpy)
    count = int(np.prod(shape)) * dtype.itemsize
    raw = rng.integers(0, 256, count, np.uint8)
    return raw.view(dtype.numpy).reshape(shape)


def require_equal(label: str, dtypes: tuple[Dtype, ...]) -> None:
    """Refuse operands of different dtypes (`SpecError`)."""
    if len(set(dtypes)) > 1:
        raise SpecError(
            f"{label} has operands of one dtype, not {','.join(map(str, dtypes))}"
        )

"""Base class of the kinds of Spec: dimensions, operands, meaning, work, random inputs.

Each kind is a frozen dataclass in a module of its own; `kinds.py` lists them. The rest
of the code never tests the class of a kind: it reads the traits that `Kind` has.
"""

import dataclasses
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from morello.lazy import cached_property
from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.operand import Operand

if TYPE_CHECKING:
    from morello.spec.graphs.graph import Graph

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = tuple[Array, ...]
Dtypes = tuple[Dtype, ...]
Sizes = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Kind(ABC):
    """One kind of Spec. Fields of a subclass are what the text form calls options
    (`morello/spec/text/spellings.py`)."""

    name: ClassVar[str]
    """The name of the operation in the dialect and in the text form."""
    example: ClassVar[str]
    """A small Spec of the kind, as text."""
    is_variadic: ClassVar[bool] = False
    """Whether its operands are other ones from Spec to Spec."""
    moves_data: ClassVar[bool] = False
    """Whether it copies or fills and computes nothing: bringing its operands to another
    form first would be more work than the Spec is."""
    copies: ClassVar[bool] = False
    """Whether its output is its input, element by element."""
    optional_dims: ClassVar[int] = 0
    """How many leading dimensions the text form may leave out (they are 1)."""
    flushing = False
    """Whether products of narrow floats in it may take denormals for zero: an option of
    the kinds that have products."""

    @property
    @abstractmethod
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Operand, ...]:
        """The operands: inputs first, then the outputs."""

    @cached_property
    def label(self) -> str:
        """The name in the text form."""
        return f"{self.name}_accum" if getattr(self, "accum", False) else self.name

    @cached_property
    def _traits(self) -> "_Traits":
        return _Traits.of(self.operands, len(self.dims))

    @property
    def written(self) -> tuple[int, ...]:
        """The positions of the operands that are written."""
        return self._traits.written

    @property
    def reductions(self) -> tuple[int, ...]:
        """The dimensions that no written operand has."""
        return self._traits.reductions

    @property
    def accumulates(self) -> bool:
        """Whether the outputs are read: parts of a reduction can be added to them."""
        return self._traits.accumulates

    @property
    def has_element(self) -> bool:
        """Whether it is one computation on each element of its mesh."""
        return True

    @property
    def is_map(self) -> bool:
        """Whether each element of its output is a function of those at its place."""
        return self.has_element and len({o.axes for o in self.operands}) == 1

    def loops(self, dim: int) -> bool:
        """Whether a loop may go along a dimension: each tile is a Spec of the kind."""
        return dim not in self.reductions or self.accumulates

    @property
    def reform(self) -> "Reform | None":
        """The form of a reduction that adds, and how it has dimensions and operands."""
        plain = not getattr(self, "accum", True)
        if not plain or not self.reductions or len(self.written) > 1:
            return None  # it is no reduction, adds already, or has several outputs
        kind = dataclasses.replace(self, **{"accum": True})
        return Reform(
            kind, tuple(range(len(kind.dims))), tuple(range(len(kind.operands)))
        )

    @property
    def as_graph(self) -> "Graph | None":
        """Graph of the kind's computation; None where `element` defines all of it."""
        return None

    @property
    def values(self) -> tuple[int, ...]:
        """The value of the graph that each operand is."""
        return ()

    @abstractmethod
    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Refuse a mix of dtypes that has no meaning (`SpecError`)."""

    def as_flushing(self, dtypes: tuple[Dtype, ...]) -> "Kind":
        """The kind whose products of two upper halves of floats, with sums of whole
        ones, may take denormals for zero; the kind as it is where it has none."""
        return self

    @property
    def wraps(self) -> bool:
        """Whether an integer output is the exact result modulo 2^bits.

        Then it may be computed in a wider integer and cut off at the end.
        """
        return False

    def grain(self, dim: int) -> int:
        """Granularity of parts of a dimension: each begins at a multiple of it.

        It is 1 where parts may begin anywhere. A reduction that is defined on
        groups of neighbours must not be cut inside one.
        """
        return 1

    @abstractmethod
    def flops(self, sizes: tuple[int, ...]) -> int:
        """The arithmetic operations of the definition; 0 for data movement."""

    @abstractmethod
    def evaluate(self, sizes: Sizes, dtypes: Dtypes, arrays: Arrays) -> Array | Arrays:
        """The definition, in NumPy: the output, or a tuple of several.

        ``arrays`` holds, in logical order, every operand that is read: the inputs, and
        the outputs that the kind adds to.
        """

    @abstractmethod
    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """An element of the output from those of the operands that are read; a tuple
        of them for several outputs.

        A reduction adds them to what the output holds: it is asked in the form that
        accumulates. A dimension that is taken in groups has ``elements.steps``.
        """


class ElementByElement(Kind):
    """A kind of which every operand has every dimension; there may be any number."""

    rank: int
    """A field of each: where it stands among others is theirs to say."""

    @property
    def dims(self) -> tuple[str, ...]:
        """``d0``, ``d1``, …"""
        return _numbered(self.rank)


@lru_cache(maxsize=64)
def _numbered(rank: int) -> tuple[str, ...]:
    return tuple(f"d{i}" for i in range(rank))


@dataclasses.dataclass(frozen=True)
class Reform:
    """A kind that computes what another does, in another form."""

    kind: Kind
    dims: tuple[int, ...]
    """For each dimension of this kind that of the original one."""
    operands: tuple[int, ...]
    """For each operand of this kind that of the original one; -1 for none."""


@dataclasses.dataclass(frozen=True)
class _Traits:
    """Properties that follow from the operands of a kind."""

    written: tuple[int, ...]
    reductions: tuple[int, ...]
    accumulates: bool

    @classmethod
    def of(cls, operands: tuple[Operand, ...], dims: int) -> "_Traits":
        """The traits of a kind with these operands and so many dimensions."""
        outputs = [o for o in operands if o.is_written]
        output_dims = {d for o in outputs for d in o.dims}
        return cls(
            tuple(i for i, o in enumerate(operands) if o.is_written),
            tuple(i for i in range(dims) if i not in output_dims),
            all(o.is_read for o in outputs),
        )


def each(outputs: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """The outputs: what `Kind.evaluate` gives, as a tuple in any case."""
    return outputs if isinstance(outputs, tuple) else (outputs,)

"""Base class of the kinds of Spec: dimensions, operands, meaning, work, random inputs.

Each kind is a frozen dataclass in a module of its own; `kinds.py` lists them. The rest
of the code never tests the class of a kind: it reads the traits that `Kind` has.
"""

import dataclasses
import itertools
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.elements.dtypes import ELEMENT_TYPES, Dtype
from morello.spec.elements.operations import Elements
from morello.spec.operand import Operand
from morello.spec.options import text_options, text_value

if TYPE_CHECKING:
    from morello.spec.graphs.graph import Graph

Array = np.ndarray[Any, np.dtype[Any]]

EXACT_BOUND = 4
"""Random inputs are integers in [-4, 4]: every f32 partial sum of up to 2^20 products
of two is exact, whatever its order, so kernels can be compared bit for bit."""


UNIT_ROUNDOFF = 2.0**-24
"""u of f32: the relative error of one rounding is at most this."""

_UNDERFLOW = 2.0**-150
"""The absolute error of one rounding below the normal numbers is at most this."""

_LARGEST = float(np.finfo(np.float32).max)


@dataclasses.dataclass(frozen=True)
class Kind(ABC):
    """One kind of Spec. Fields of a subclass are what the text form calls options."""

    name: ClassVar[str]
    """The name of the operation in the dialect and in the text form."""
    example: ClassVar[str]
    """A small Spec of the kind, as text."""
    is_variadic: ClassVar[bool] = False
    """Whether its operands are other ones from Spec to Spec."""
    moves_data: ClassVar[bool] = False
    """Whether it copies or fills and computes nothing: bringing its operands to another
    form first would be more work than the Spec is."""

    @property
    @abstractmethod
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Operand, ...]:
        """The operands: inputs first, then the outputs."""

    @classmethod
    def labels(cls) -> tuple[str, ...]:
        """The names in the text form: one more if the kind can accumulate."""
        accumulating = "accum" in {field.name for field in dataclasses.fields(cls)}
        return (cls.name, f"{cls.name}_accum") if accumulating else (cls.name,)

    @classmethod
    def from_text(cls, label: str, rank: int, options: dict[str, str]) -> Self:
        """The kind called ``label``; it takes its options out of ``options``.

        Args:
            rank: how many sizes there are.

        Raises:
            SpecError: an option has a value that the kind does not have.
        """
        given: dict[str, Any] = {"accum": label != cls.name, "rank": rank}
        for field in dataclasses.fields(cls):
            if field.name in cls.option_names() and field.name in options:
                text = options.pop(field.name)
                given[field.name] = text_value(field, text)
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in given.items() if name in names})

    @classmethod
    def with_sizes(
        cls, label: str, sizes: tuple[int, ...], options: dict[str, str]
    ) -> tuple[Self, tuple[int, ...]]:
        """The kind called ``label``, and sizes in the order of its dimensions, some of
        them left out perhaps.

        Raises:
            SpecError: as `from_text`.
        """
        return cls.from_text(label, len(sizes), options), sizes

    def short(self, sizes: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        """A shorter way to write the kind with its options, and the sizes as that has
        them; None where there is none."""
        return None

    @classmethod
    def instances(cls) -> tuple[Self, ...]:
        """The kind with each of its options: what random tests draw from."""
        return tuple(cls.from_text(label, 2, {}) for label in reversed(cls.labels()))

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Names of the options that the text form may give."""
        names = (field.name for field in dataclasses.fields(cls))
        return tuple(name for name in names if name not in ("accum", "rank"))

    @cached_property
    def label(self) -> str:
        """The name in the text form."""
        return self.labels()[bool(getattr(self, "accum", False))]

    @property
    def options(self) -> dict[str, str]:
        """The options that the text form must give, with their values."""
        return text_options(self, self.option_names())

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
    def accumulating(self) -> "Kind | None":
        """The form of a reduction that adds to its output; None where there is none:
        what is no reduction, what adds already, what has several outputs."""
        plain = not getattr(self, "accum", True)
        if not plain or not self.reductions or len(self.written) > 1:
            return None
        return dataclasses.replace(self, **{"accum": True})

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
        kind = self.accumulating
        if kind is None:
            return None
        return Reform(
            kind, tuple(range(len(kind.dims))), tuple(range(len(kind.operands)))
        )

    def is_batch(self, dim: int) -> bool:
        """Whether the search takes a dimension whole, element by element, or by shares
        of threads: other tiles of it are no better, as nothing is used again."""
        return False

    def is_common(self, dim: int) -> bool:
        """Whether elements of a dimension of a graph have nothing in common."""
        return False

    def neutral_of(self, operand: int) -> str:
        """The neutral element of the reduction that an output is: a value of `Fill`."""
        return "zero"

    @property
    def of_fewer_dims(self) -> "Kind | None":
        """Kind with one dimension less, where every operand has all dimensions in their
        order, so that two can be merged in one; None of other kinds."""
        return None

    @property
    def as_graph(self) -> "Graph | None":
        """Graph of the kind's computation; None where `element` defines all of it."""
        return None

    def with_graph(self, graph: "Graph") -> "Kind":
        """The kind of another graph, whose values are numbered alike."""
        raise NotImplementedError(f"{self.label} is no graph")

    @property
    def values(self) -> tuple[int, ...]:
        """The value of the graph that each operand is."""
        return ()

    def products(self, operand: int) -> tuple[tuple[Any, int], ...]:
        """Specs of other kinds inside (`Embedding`) that read or write an operand, and
        which of their operands it is: kernels ask for it in the forms that these
        want."""
        return ()

    @property
    def has_several_products(self) -> bool:
        """Whether it holds several products, one after another."""
        return self.contractions > 1

    @property
    def contractions(self) -> int:
        """How many products it holds, one after another: where there are several, the
        search brings no operand to L1, which is for what has one."""
        return 1

    def leader(self, operand: int) -> int:
        """The operand that an operand follows from memory to memory; itself if it
        leads."""
        return operand

    def followers(self, operand: int) -> tuple[int, ...]:
        """Operands that have to be in the memory of an operand, and move with it."""
        return ()

    @property
    def copies(self) -> bool:
        """Whether its output is its input, element by element."""
        return self.moves_data and any(o.is_read for o in self.operands)

    @property
    def reuses_inputs(self) -> bool:
        """Whether each element of every input is used several times: arithmetic then
        hides loads."""
        return self._traits.reuses_inputs

    def rounded_terms(self, sizes: tuple[int, ...]) -> int:
        """The terms of the sum that each element of a float output is; 0 where nothing
        is rounded. A kind that rounds defines `in_f64`, too."""
        return 0

    def is_exact(self, sizes: tuple[int, ...]) -> bool:
        """Whether results on inputs from `random` are the definition's, bit for bit."""
        return self.rounded_terms(sizes) * EXACT_BOUND**2 <= 1 / UNIT_ROUNDOFF

    def reference(
        self, sizes: tuple[int, ...], arrays: tuple[Array, ...]
    ) -> tuple[tuple[Array, Array], ...]:
        """Each output in f64, and how far from it a right one in f32 may be: what any
        order of summation may lose.

        Args:
            sizes: of each dimension.
            arrays: as for `evaluate`, in f64.
        """
        terms = self.rounded_terms(sizes)
        growth = terms * UNIT_ROUNDOFF / (1 - terms * UNIT_ROUNDOFF)
        with np.errstate(all="ignore"):
            bounds = each(self.in_f64(sizes, arrays))
            size_of = each(self.in_f64(sizes, tuple(map(np.abs, arrays))))
            # A sum that may leave the range of f32 on its way has no bound.
            return tuple(
                (
                    number,
                    np.where(
                        size > _LARGEST, np.inf, growth * size + terms * _UNDERFLOW
                    ),
                )
                for number, size in zip(bounds, size_of, strict=True)
            )

    def in_f64(
        self, sizes: tuple[int, ...], arrays: tuple[Array, ...]
    ) -> Array | tuple[Array, ...]:
        """`evaluate` on f64 arrays, without rounding, of a kind that rounds."""
        raise NotImplementedError(f"{self.label} rounds nothing")

    @property
    def optional_dims(self) -> int:
        """How many leading dimensions the text form may leave out (they are 1)."""
        return 0

    def dtypes(self, given: tuple[Dtype, ...]) -> tuple[Dtype, ...]:
        """The dtype of each operand, from one for all or one each.

        Raises:
            SpecError: another number of dtypes.
        """
        count = len(self.operands)
        full = given * count if len(given) == 1 else given
        if len(full) != count:
            names = ",".join(o.name for o in self.operands)
            raise SpecError(
                f"{self.label} has {count} operands ({names}) but {len(given)} dtypes",
                "give one dtype, or one for each operand",
            )
        return full

    @abstractmethod
    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Refuse a mix of dtypes that has no meaning (`SpecError`)."""

    def has_dtypes(self, dtypes: tuple[Dtype, ...]) -> bool:
        """Whether a mix of dtypes has a meaning."""
        return _is_legal(self, dtypes)

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
        """Granularity of parts of a dimension: each begins at a multiple of it.

        It is 1 where parts may begin anywhere. A reduction that is defined on
        groups of neighbours must not be cut inside one.
        """
        return 1

    @abstractmethod
    def flops(self, sizes: tuple[int, ...]) -> int:
        """The arithmetic operations of the definition; 0 for data movement."""

    @abstractmethod
    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> Array | tuple[Array, ...]:
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


@dataclasses.dataclass(frozen=True)
class Reform:
    """A kind that computes what another does, in another form."""

    kind: Kind
    dims: tuple[int, ...]
    """For each of its dimensions that of the other."""
    operands: tuple[int, ...]
    """For each of its operands that of the other; -1 for one that it lacks."""


@lru_cache(maxsize=256)
def _legal_dtypes(kind: Kind) -> tuple[tuple[Dtype, ...], ...]:
    mixes = itertools.product(ELEMENT_TYPES, repeat=len(kind.operands))
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


@dataclasses.dataclass(frozen=True)
class _Traits:
    """Properties that follow from the operands of a kind."""

    written: tuple[int, ...]
    reductions: tuple[int, ...]
    accumulates: bool
    reuses_inputs: bool

    @classmethod
    def of(cls, operands: tuple[Operand, ...], dims: int) -> "_Traits":
        """The traits of a kind with these operands and so many dimensions."""
        outputs = [o for o in operands if o.is_written]
        inputs = [o for o in operands if not o.is_written]
        kept = {d for o in outputs for d in o.dims}
        return cls(
            tuple(i for i, o in enumerate(operands) if o.is_written),
            tuple(i for i in range(dims) if i not in kept),
            all(o.is_read for o in outputs),
            bool(inputs) and all(len(o.dims) < dims for o in inputs),
        )


def each(found: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """The outputs: what `Kind.evaluate` gives, as a tuple in any case."""
    return found if isinstance(found, tuple) else (found,)


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

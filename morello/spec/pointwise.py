"""Pointwise kinds: each element of the output is a function of those at its place."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from morello.errors import SpecError
from morello.spec.array_elements import ArrayElements
from morello.spec.dtypes import FLOAT_NAMES, Dtype
from morello.spec.element_by_element import ElementByElement
from morello.spec.elements import Elements
from morello.spec.functions import BINARY, UNARY
from morello.spec.index_map import plain
from morello.spec.kind import Array, require_equal
from morello.spec.operand import Operand


@dataclasses.dataclass(frozen=True, order=True)
class Pointwise(ElementByElement):
    """A function of `morello/spec/functions/`; narrow floats are computed in f32."""

    functions: ClassVar[Mapping[str, Callable[..., Any]]]
    """By the names in the text form."""
    inputs: ClassVar[tuple[str, ...]]
    """The names of its arguments."""

    function: str
    """The name of the function."""
    rank: int

    def __post_init__(self) -> None:
        if self.function not in self.functions:
            raise SpecError(
                f"{self.name} has no function '{self.function}'",
                f"use one of {', '.join(self.functions)}",
            )

    @classmethod
    def labels(cls) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(cls.functions)

    @classmethod
    def from_text(cls, label: str, rank: int, options: dict[str, str]) -> Self:
        """The function called ``label``."""
        return cls(label, rank)

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """None: the name says all."""
        return ()

    @property
    def label(self) -> str:
        """The name of the function."""
        return self.function

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The arguments and out, all over every dimension."""
        return _operands(self.inputs, self.rank)

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """All operands have one float dtype: f32, bf16 or f16."""
        require_equal(self.label, dtypes)
        if not dtypes[0].is_float:
            remedy = f"use {FLOAT_NAMES}"
            raise SpecError(f"{self.label} has no dtype {dtypes[0]}", remedy)

    def flops(self, sizes: tuple[int, ...]) -> int:
        """One for each element."""
        return int(np.prod(sizes, dtype=object))

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """The function in f32; narrow floats are cast before and after."""
        values = (
            elements.convert(elements.read(index), dtype, Dtype.F32)
            for index, dtype in enumerate(dtypes[:-1])
        )
        found = self.functions[self.function](elements, *values)
        return elements.convert(found, Dtype.F32, dtypes[-1])

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> Array:
        """Evaluates the kind's operations on whole arrays."""
        found: Array = self.element(ArrayElements(arrays), dtypes)
        return found

    def random(
        self,
        rng: np.random.Generator,
        dtypes: tuple[Dtype, ...],
        shapes: tuple[tuple[int, ...], ...],
    ) -> tuple[Array, ...]:
        """Numbers around 0, most of them within ±12."""
        return tuple(
            (4 * rng.standard_normal(shape, np.float32)).astype(dtype.numpy)
            for dtype, shape in zip(dtypes[:-1], shapes[:-1], strict=True)
        )


@dataclasses.dataclass(frozen=True, order=True)
class Unary(Pointwise):
    """out = f(src), element by element."""

    name: ClassVar[str] = "unary"
    example: ClassVar[str] = "exp:8x33:f32"
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {
        name: function for name, function in UNARY.items() if name != "copy"
    }
    inputs: ClassVar[tuple[str, ...]] = ("src",)

    @classmethod
    def instances(cls) -> tuple[Self, ...]:
        """Instances of one and two dimensions."""
        return (cls("exp", 1), cls("relu", 2))


@dataclasses.dataclass(frozen=True, order=True)
class Binary(Pointwise):
    """out = f(lhs, rhs), element by element."""

    name: ClassVar[str] = "binary"
    example: ClassVar[str] = "add:8x33:f32"
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = BINARY
    inputs: ClassVar[tuple[str, ...]] = ("lhs", "rhs")

    @classmethod
    def instances(cls) -> tuple[Self, ...]:
        """Instance of two dimensions."""
        return (cls("add", 2),)


@lru_cache
def _operands(inputs: tuple[str, ...], rank: int) -> tuple[Operand, ...]:
    every = plain(*range(rank))
    return (
        *(Operand(name, every, is_read=True, is_written=False) for name in inputs),
        Operand("out", every, is_read=False, is_written=True),
    )

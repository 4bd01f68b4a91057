"""Operations on single elements, by which a kind defines what it computes.

`Kind.element` is written over `Elements`: a code generator implements it on scalars
or, lane by lane, on vectors; a counter only counts the operations; tests compute.
"""

from typing import Any, Protocol

from morello.spec.elements.dtypes import Dtype


class Operations(Protocol):
    """Arithmetic on elements: numbers, arrays of them, or code on scalars and lanes."""

    def convert(self, value: Any, source: Dtype, dest: Dtype) -> Any:
        """A cast, as `Move` defines it."""

    def add(self, a: Any, b: Any) -> Any:
        """``a + b``, wrapping for integers."""

    def subtract(self, a: Any, b: Any) -> Any:
        """``a - b``, wrapping for integers."""

    def multiply(self, a: Any, b: Any) -> Any:
        """``a * b``, wrapping for integers."""

    def divide(self, a: Any, b: Any) -> Any:
        """``a / b`` of two floats."""

    def square_root(self, a: Any) -> Any:
        """The square root of a float, rounded once; NaN of what is below -0."""

    def nearest(self, a: Any) -> Any:
        """The nearest whole number of a float, of two the even one: -0.4 becomes -0."""

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``: rounded once for floats, wrapping for integers."""

    def maximum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        """The greater of two numbers (IEEE ``maximum``)."""

    def minimum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        """The lesser of two numbers (IEEE ``minimum``)."""

    def greater(self, a: Any, b: Any) -> Any:
        """``a`` where a > b, else ``b``: also where one is NaN, or both are zeros."""

    def lesser(self, a: Any, b: Any) -> Any:
        """``a`` where a < b, else ``b``: also where one is NaN, or both are zeros."""

    def where_less(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """``x`` where a < b, else ``y``: also where one is NaN. All are floats."""

    def where_equal(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """``x`` where a = b, else ``y``: also where one is NaN. All are floats."""

    def reinterpret(self, value: Any, dtype: Dtype) -> Any:
        """Reinterprets the bits of a value as another dtype of the same width."""

    def shift_left(self, value: Any, count: int) -> Any:
        """The bits of an integer moved up by ``count``."""

    def shift_right(self, value: Any, count: int) -> Any:
        """A signed integer divided by 2^count, rounded down."""

    def scale(self, value: Any, count: Any) -> Any:
        """``value`` · 2^count of f32, rounded once; 0 where the count is below -151.

        Args:
            value: from 0.5 to below 2, or NaN; anything where the count is below -151.
            count: a whole f32, -inf, or NaN where the value is.
        """


class Elements(Operations, Protocol):
    """The elements of a Spec at one place, and the operations on them."""

    @property
    def steps(self) -> int:
        """Neighbours along a grouped dimension (`Kind.grain`); 1 without one."""

    def read(self, operand: int, step: int = 0) -> Any:
        """The element of an operand, in the operand's dtype."""

    def constant(self, dtype: Dtype, number: float | int) -> Any:
        """A number."""

    def of_sizes(self, dtype: Dtype, number: Any) -> Any:
        """A number that follows from the sizes of the call (`SizeNumber`)."""

    @property
    def has_scale(self) -> bool:
        """Whether one instruction does what `scale` says."""

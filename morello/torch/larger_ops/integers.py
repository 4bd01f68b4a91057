"""Functions of integers and truth values, in ops that the importer knows of them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

Rule = Callable[..., Any]


def negative(x: Any) -> Any:
    """A product by -1 of wide integers, which torch-mlir would negate in f32."""
    is_wide = x.dtype in (torch.int16, torch.int32, torch.int64)
    return x * -1 if is_wide else NotImplemented


def sum_of_truths(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """The truth of either, for truth values and a truth value of Python."""
    if x.dtype is not torch.bool or not isinstance(y, bool):
        return NotImplemented
    return torch.ones_like(x) if y and alpha else x.clone()


def compared(op: Any) -> Rule:
    """A rule for comparisons of truth values with numbers, which torch-mlir takes for
    truth values, too."""

    def rule(x: Any, number: Any) -> Any:
        if x.dtype is not torch.bool:
            return NotImplemented
        return op(x.float() if isinstance(number, float) else x.long(), number)

    return rule


def of_truths(op: Any, rule: Rule | None = None) -> Rule:
    """A rule for `any` and `all`, of numbers by those that are not zero.

    Args:
        op: is taken of truth values.
        rule: what becomes of it there, if anything.
    """

    def of(x: Any, *arguments: Any, **options: Any) -> Any:
        if x.dtype is torch.bool:
            return NotImplemented if rule is None else rule(x, *arguments, **options)
        return op(x.ne(0), *arguments, **options)

    return of


def extreme(of_axis: Any) -> Rule:
    """A rule for the largest or the least of integers, along one axis after the other:
    torch-mlir takes that of floats alone."""

    def rule(x: Any, axes: Sequence[int] = (), keepdim: bool = False) -> Any:
        if x.is_floating_point() or not x.dim():
            return NotImplemented if x.is_floating_point() else x.clone()
        every = {axis % x.dim() for axis in axes} or {*range(x.dim())}
        for axis in sorted(every, reverse=True):
            x = of_axis(x, axis, keepdim=keepdim).values
        return x

    return rule


def power(x: Any, exponent: int) -> Any:
    """A product of equal integers: of squares of squares."""
    x, result = x.long() if x.dtype is torch.bool else x, None
    while exponent:
        if exponent & 1:
            result = x if result is None else result * x
        exponent >>= 1
        x = x * x if exponent else x
    return torch.ones_like(x) if result is None else result.clone()


def sign(x: Any) -> Any:
    """One, zero or minus one, for integers."""
    if x.is_floating_point():
        return NotImplemented
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def within(x: Any, least: Any = None, most: Any = None) -> Any:
    """Integers between those of two tensors."""
    if x.is_floating_point():
        return NotImplemented
    x = x if least is None else torch.maximum(x, least)
    return x if most is None else torch.minimum(x, most)


def shifted_left(x: Any, bits: int) -> Any:
    """Products by a power of two."""
    return x * 2**bits


def shifted_right(x: Any, bits: int) -> Any:
    """Quotients by a power of two, rounded down."""
    return torch.div(x, 2**bits, rounding_mode="floor")

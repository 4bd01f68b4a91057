"""The arrays given at a call, checked against the parameters of the kernel.

`ArgumentChecker` is the entry point: it is built once from `Parameter`s, and its
`check` answers with the addresses of the arrays, and the distances of rows of which a
call says them, or with an `ArgumentError` that names the argument, the reason and the
remedy. Nothing is ever copied.

The way through `check` for arrays that fit is short: one comparison a property. Only
when one differs does `diagnose.py` say which and why.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.errors import ArgumentError
from morello.runtime.calls.array_layout import (
    ALIGNED,
    WRITEABLE,
    asked,
    data_of,
    is_known,
)
from morello.runtime.calls.call_size import call_sizes
from morello.runtime.calls.diagnose import diagnose
from morello.runtime.calls.parameter import Parameter, may_interleave

_C_CONTIGUOUS = 0x0001
"""A flag bit of NumPy (NPY_ARRAY_…), part of its ABI."""

_READABLE = _C_CONTIGUOUS | ALIGNED

_ARRAY = np.ndarray

pointer = data_of if is_known() else asked
"""The address of an array's elements."""


class ArgumentChecker:
    """Checks the arguments of one kernel.

    Args:
        parameters: inputs first, then outputs, each name once.
    """

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        roles = [parameter.is_output for parameter in parameters]
        if roles != sorted(roles):
            raise ValueError("inputs stand before outputs")
        if len({parameter.name for parameter in parameters}) != len(parameters):
            raise ValueError("two parameters have one name")
        self.parameters = parameters
        self._any_row = any(parameter.any_row for parameter in parameters)
        self._call_sizes = call_sizes(parameters)
        self._wanted = tuple(
            (
                parameter.dtype,
                () if parameter.strides else parameter.shapes,
                _READABLE | (WRITEABLE if parameter.is_output else 0),
            )
            for parameter in parameters
        )
        self._sizes = tuple(parameter.nbytes for parameter in parameters)
        # An output is compared with every parameter before it: inputs, other outputs.
        self._disjoint = tuple(
            (
                output,
                other,
                self._sizes[output],
                self._sizes[other],
                may_interleave(parameter, parameters[other]),
            )
            for output, parameter in enumerate(parameters)
            if parameter.is_output
            for other in range(output)
        )

    def check(self, arrays: Sequence[Any]) -> list[int]:
        """The addresses of the arrays, in the order of the parameters.

        After them are the sizes that the call says, if there are any; and the elements
        from row to row of those whose rows may be any distance apart.

        Args:
            arrays: one for each parameter.

        Raises:
            ArgumentError: names the argument that does not fit.
        """
        if self._call_sizes is not None:
            said = self._call_sizes.of([getattr(a, "shape", None) for a in arrays])
            settled = ArgumentChecker(self._call_sizes.settled(said))
            return [*settled.check(arrays), *said]
        addresses = []
        for array, (dtype, shapes, flags) in zip(arrays, self._wanted, strict=True):
            if (
                type(array) is not _ARRAY
                or array.dtype is not dtype
                or array.shape not in shapes
                or array.flags.num & flags != flags
            ):
                # A subclass, an equal dtype, strides, or an array that does not fit.
                self._diagnose(arrays)
                addresses = [pointer(array) for array in arrays]
                break
            addresses.append(pointer(array))
        if self._any_row:
            return self._check_rows(arrays)
        for one, other, size, other_size, apart in self._disjoint:
            first, second = addresses[one], addresses[other]
            if first >= second + other_size or second >= first + size:
                continue
            if not apart or self._rows_meet(one, other, second - first, apart):
                raise self._overlap(one, other)
        return addresses

    def _check_rows(self, arrays: Sequence[Any]) -> list[int]:
        """Check arrays of which some have rows any distance apart, as if the
        Spec had named the distances that they have."""
        rows = [
            parameter.row_of(array.shape, array.strides) if parameter.any_row else None
            for array, parameter in zip(arrays, self.parameters, strict=True)
        ]
        settled = ArgumentChecker(
            tuple(
                parameter if row is None else parameter.with_row(row)
                for parameter, row in zip(self.parameters, rows, strict=True)
            )
        )
        return settled.check(arrays) + [row for row in rows if row is not None]

    def _rows_meet(self, one: int, other: int, distance: int, apart: int) -> bool:
        """Whether rows of two arrays share bytes; both have them ``apart`` bytes."""
        row, other_row = self.parameters[one].row[0], self.parameters[other].row[0]
        offset = distance % apart
        return offset < row or offset + other_row > apart

    def _diagnose(self, arrays: Sequence[Any]) -> None:
        """Refuse the first array that does not fit."""
        for array, parameter in zip(arrays, self.parameters, strict=True):
            diagnose(array, parameter)

    def _overlap(self, one: int, other: int) -> ArgumentError:
        return ArgumentError(
            f"{self.parameters[one].role} overlaps {self.parameters[other].role} in "
            "memory, so that writing one would change the other",
            "give arrays that share no memory, e.g. a copy of one of them",
        )

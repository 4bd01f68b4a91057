"""A form: the dtype and the layout that a kernel asks for an operand in."""

import dataclasses

from morello.spec.elements.dtypes import Dtype
from morello.spec.tensors.layout import Layout


@dataclasses.dataclass(frozen=True, order=True)
class Form:
    """How an operand may be brought to a kernel: in which dtype and layout.

    Text: ``f32[0,2,1,2p16]``.
    """

    dtype: Dtype
    layout: Layout

    @classmethod
    def parse(cls, text: str) -> "Form":
        """The form written ``f32[0,2,1,2p16]``.

        Raises:
            SpecError: dtype or layout cannot be read.
        """
        dtype, bracket, rest = text.strip().partition("[")
        return cls(Dtype.parse(dtype), Layout.parse(bracket + rest))

    def __str__(self) -> str:
        return f"{self.dtype}{self.layout}"

"""A Spec that leaves the layouts of constant operands to the search.

Weights are packed once and used many times, so the kernel may say how they should lie.
In text: ``rhs=any``; ``rhs=[0,2,1]/any`` where another layout than rows is tried first.
"""

import dataclasses

from morello.errors import SpecError
from morello.spec.spec import Spec, argument_tensor
from morello.spec.tensors.layout import Layout
from morello.spec.tensors.limits import Limits
from morello.spec.text.specs import Part, parts_of, print_spec, read_parts
from morello.suggestions import did_you_mean

_ANY = "any"

_FIRST = f"/{_ANY}"


@dataclasses.dataclass(frozen=True, order=True)
class OpenSpec:
    """A Spec, and the operands whose layout is not settled.

    Args:
        spec: it, with open operands as arguments without gaps, in the layout that is
            tried first.
        open: the open operands by number; they are read and not written.
    """

    spec: Spec
    open: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for index in self.open:
            operand = self.spec.kind.operands[index]
            if operand.is_written:
                raise SpecError(
                    f"operand '{operand.name}' is written, so its layout cannot be "
                    "left open",
                    "leave open only what is packed once and read many times",
                )
            tensor = self.spec.tensors[index]
            if tensor != argument_tensor(tensor.dtype, tensor.layout):
                raise SpecError(
                    f"operand '{operand.name}' is open and has the form {tensor}",
                    "give it either a layout or 'any'",
                )

    def settled(self, layouts: tuple[Layout, ...]) -> Spec:
        """The Spec whose open operands have these layouts, in their order."""
        tensors = list(self.spec.tensors)
        for index, layout in zip(self.open, layouts, strict=True):
            tensors[index] = argument_tensor(tensors[index].dtype, layout)
        return dataclasses.replace(self.spec, tensors=tuple(tensors))

    @property
    def family(self) -> object:
        """Key that goals have which share many tables: all but the sizes."""
        return self.spec.key, self.open

    @property
    def is_settled(self) -> bool:
        """Whether nothing is open."""
        return not self.open


def parse_open_spec(text: str, limits: Limits) -> OpenSpec:
    """Parses an open Spec: a Spec with ``operand=any`` for each operand that is open.

    Raises:
        SpecError: the text is not a Spec, or opens an operand that is written.
    """
    parts = parts_of(text)
    opened = {
        part.text.partition("=")[0]: part.column
        for part in parts
        if part.text.endswith((f"={_ANY}", _FIRST))
    }
    settled = [
        Part(part.text.removesuffix(_FIRST), part.column)
        for part in parts
        if not part.text.endswith(f"={_ANY}")
    ]
    spec, operands = read_parts(text, settled, limits)
    names = [operand.name for operand in operands]
    options = [part.text.partition("=")[0] for part in parts]
    for name, column in opened.items():
        if name not in names:
            readable = [o.name for o in operands if not o.is_written]
            raise SpecError(
                f"'{name}' in the Spec '{text}' is no operand of {spec.kind.label}",
                f"any of these may be open: {', '.join(readable)}"
                + did_you_mean(name, readable),
            ).at_column(column)
        if options.count(name) > 1:
            raise SpecError(
                f"option '{name}' is given twice in the Spec '{text}'", "leave one out"
            ).at_column(column)
    try:
        return OpenSpec(spec, tuple(sorted(map(names.index, opened))))
    except SpecError as error:
        raise error.at_column(min(opened.values())) from None


def print_open_spec(goal: OpenSpec, limits: Limits) -> str:
    """The shortest text that `parse_open_spec` reads back."""
    tensors = list(goal.spec.tensors)
    forms = []
    for index in goal.open:
        tensor = tensors[index]
        rows = argument_tensor(tensor.dtype, Layout.row_major(tensor.rank))
        first = "" if tensor == rows else f"{tensor.layout}/"
        forms.append(f"{goal.spec.kind.operands[index].name}={first}{_ANY}")
        tensors[index] = rows
    plain = dataclasses.replace(goal.spec, tensors=tuple(tensors))
    return ":".join([print_spec(plain, limits), *forms])

"""Kinds by the names that the text form gives them."""

from morello.spec import Kind
from morello.spec.kinds import labels
from morello.spec.text.spellings import kind_and_sizes


def named(label: str, rank: int = 2) -> Kind:
    """The kind that ``label:…`` of so many sizes has."""
    kind, _ = kind_and_sizes(labels()[label], label, (2,) * rank, {})
    return kind


def reuses_inputs(kind: Kind) -> bool:
    """Whether each element of every input is used several times."""
    inputs = [operand for operand in kind.operands if not operand.is_written]
    return bool(inputs) and all(len(o.dims) < len(kind.dims) for o in inputs)


def accumulating(kind: Kind) -> Kind | None:
    """The form of a reduction that adds to its output; None where there is none."""
    return None if kind.reform is None else kind.reform.kind

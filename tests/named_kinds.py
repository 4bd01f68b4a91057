"""Kinds by the names that the text form gives them."""

from morello.spec import Kind
from morello.spec.kinds import labels


def named(label: str, rank: int = 2) -> Kind:
    """The kind that ``label:…`` of so many sizes has."""
    kind, _ = labels()[label].with_sizes(label, (2,) * rank, {})
    return kind

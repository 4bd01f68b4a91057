"""The kinds of Specs: to add one, write its module and list its class here."""

from morello.spec.compose import Compose
from morello.spec.fill import Fill
from morello.spec.kind import Kind
from morello.spec.matmul import Matmul
from morello.spec.move import Move

KINDS: list[type[Kind]] = [
    Matmul,
    Move,
    Fill,
    Compose,
]
"""The class of each kind. The Spec ops of the dialect, the text form, the random Specs
of the tests and the reference page follow this list."""


def labels() -> dict[str, type[Kind]]:
    """The class of each kind by the names that the text form gives it."""
    return {label: kind for kind in KINDS for label in kind.labels()}


def instances() -> tuple[Kind, ...]:
    """Every kind with each of its options."""
    return tuple(instance for kind in KINDS for instance in kind.instances())

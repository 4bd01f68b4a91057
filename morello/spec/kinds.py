"""The kinds of Specs: to add one, write its module and list its class here."""

from morello.spec.compose import Compose
from morello.spec.dtypes import Dtype
from morello.spec.fill import Fill
from morello.spec.graphs.reductions import REDUCTIONS
from morello.spec.kind import Kind
from morello.spec.matmul import Matmul
from morello.spec.maximum import Max
from morello.spec.minimum import Min
from morello.spec.move import Move
from morello.spec.pointwise import Binary, Unary
from morello.spec.summation import Sum

KINDS: list[type[Kind]] = [
    Matmul,
    Max,
    Min,
    Sum,
    Unary,
    Binary,
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


def kind_of(
    label: str,
    sizes: tuple[int, ...],
    options: dict[str, str],
    dtypes: tuple[Dtype, ...] = (),
) -> tuple[Kind, tuple[int, ...]]:
    """The kind of a label, and sizes in the order of its dimensions.

    Reductions of rows of one dtype are kinds of their own, all others are graphs.

    Raises:
        SpecError: as `Kind.with_sizes`.
    """
    kind = labels()[label]
    rows = len(sizes) == 2 and "axis" not in options and len({*dtypes}) < 2
    if label in REDUCTIONS and not rows:
        kind = Compose
    return kind.with_sizes(label, sizes, options)

"""The kinds of Specs: to add one, write its module and list its class here."""

from collections.abc import Callable

from morello.spec.compose import Compose
from morello.spec.fill import Fill
from morello.spec.graphs.graph import canonical
from morello.spec.graphs.text import parse_graph
from morello.spec.kind import Kind
from morello.spec.matmul import Matmul
from morello.spec.move import Move
from morello.spec.text.spellings import kind_of_label, labels_of

KINDS: list[type[Kind]] = [Matmul, Move, Fill, Compose]
"""The class of each kind. The Spec ops of the dialect, the text form, the random Specs
of the tests and the reference page follow this list."""


_GRAPHS = (
    "y[r]=exp(x[r])",
    "y[r,n]=x[r,n]+z[r,n]",
    "y[r]=max(x[r,n])",
    "out y[r]+=min(x[r,n])",
    "out y[r]+=sum(x[r,n])",
    "m[r]=max(x[r,n]);p[r,n]=exp(x-m);l[r]=sum(p);i[r]=1.0/l;y[r,n]=p*i",
    "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t+c[n])",
    "out p[r,n]=exp(x[r,n]-m[r]);out l[r]+=sum(p)",
    "y[r,n]=x[r,n]*w[r]+b[n]",
    "out l[n]+=sum(x[m,n]*w[m])",
    "y[m,n]=sum(a[m,k]*(s[k//4,n]*q[k,n]))",
    "y[v,f]=sum(x[v+j,c]*w[j,c,f])",
    "out y[v,f]+=sum(x[v+j,c]*w[j,c,f])",
)
"""A function of one and of two values, and reductions of rows; all of it in a row; a
product with more after it; several outputs; a map; columns; scales."""


INSTANCES: dict[type[Kind], Callable[[], tuple[Kind, ...]]] = {
    Matmul: lambda: (
        Matmul(accum=True),
        Matmul(),
        Matmul(accum=True, saturating=True),
        Matmul(accum=True, flushing=True),
    ),
    Move: lambda: (Move(1), Move(2), Move(3)),
    Fill: lambda: (Fill(1, "highest"), Fill(2, "lowest"), Fill(3)),
    Compose: lambda: tuple(
        Compose.of(canonical(parse_graph(text)).graph) for text in _GRAPHS
    ),
}
"""Kinds with several of their options, where these are more than to accumulate."""


def instances_of(kind_class: type[Kind]) -> tuple[Kind, ...]:
    """A kind with each of its options: what random tests draw from."""
    if kind_class in INSTANCES:
        return INSTANCES[kind_class]()
    return tuple(
        kind_of_label(kind_class, label, 2, {})
        for label in reversed(labels_of(kind_class))
    )


def labels() -> dict[str, type[Kind]]:
    """The class of each kind by the names that the text form gives it."""
    return {label: kind for kind in KINDS for label in labels_of(kind)}


def instances() -> tuple[Kind, ...]:
    """Every kind with each of its options."""
    return tuple(instance for kind in KINDS for instance in instances_of(kind))

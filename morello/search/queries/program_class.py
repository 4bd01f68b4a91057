"""The class of a program: which kernels it runs, and what it copies where in what form.

Programs that differ in the order and the sizes of loops take nearly the same time;
those of different classes do not, and a cost model may rank them wrongly. What an
action adds to the class is `Action.feature`; which holes have a say is
`Expansion.leading`.
"""

from collections.abc import Iterator

from morello.machine import Target
from morello.search.impl import Impl
from morello.search.queries.pins import Pinned
from morello.spec.frame import Frame

ProgramClass = frozenset[str]
"""The features of a program."""


def class_of(impl: Impl, target: Target) -> ProgramClass:
    """The class of a program.

    Args:
        target: as the goal sees it (`Target.at`).
    """
    return frozenset(_features(impl, target))


def class_text(features: ProgramClass) -> str:
    """A class for people: kernels first, then what is copied."""
    return " ".join(sorted(features, key=lambda f: ("@" in f, f)))


def _features(impl: Impl, target: Target) -> Iterator[str]:
    feature = impl.action.feature(impl.spec.key)
    if feature:
        yield feature
    roles = {
        child.role for child in impl.action.expand(Frame.of(impl.spec), target).leading
    }
    for branch in impl.branches:
        if branch.role in roles:
            yield from _features(branch.impl, target)


def pin_feature(pin: Pinned) -> str:
    """Feature of a pinned schedule, which is a class of its own."""
    return f"pinned {pin.digest}"

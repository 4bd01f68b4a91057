"""The order in which images lie that no product reads, by price: `cheaper_in_place`."""

import math
from collections import Counter
from collections.abc import Set

from morello.compiler.driver import Driver
from morello.frontends.grouping.beside import Answer
from morello.frontends.grouping.cheapest import Candidate
from morello.frontends.grouping.groups import Grouping
from morello.frontends.grouping.partition import Prices
from morello.frontends.nodes.channels_last import apart_from_products, channels_last
from morello.frontends.nodes.joined.computed_pieces import with_computed_pieces
from morello.frontends.nodes.prepared import Preparation, prepared
from morello.frontends.nodes.tensors import Tensors
from morello.spec import OpenSpec


def laid_out(
    tensors: Tensors, in_place: Set[int] = frozenset()
) -> tuple[Tensors, Preparation | None]:
    """A program whose images lie as its parts read them, and the work on weights alone.

    Args:
        tensors: of the program.
        in_place: the convolutions that read images as they lie in it, by number.
    """
    rest, preparation = prepared(channels_last(tensors, in_place))
    return with_computed_pieces(rest), preparation


def cheaper_in_place(
    tensors: Tensors,
    driver: Driver,
    pack: bool | None,
    answers: dict[OpenSpec, Answer],
) -> frozenset[int]:
    """The convolutions that cost less where channels are not last, by number.

    Args:
        tensors: of a program.
        driver: searches both.
        pack: as `Model.compile` takes it.
        answers: gets the answers of what was searched, by goal.
    """
    in_place: frozenset[int] = frozenset()
    for region in apart_from_products(tensors):
        ways = [
            _Way(tensors, s, driver, pack, answers)
            for s in (in_place, in_place | region)
        ]
        common = ways[0].goals & ways[1].goals
        if ways[1].price(common) < ways[0].price(common):
            in_place |= region
    return in_place


class _Way:
    """A program with one choice of image layouts, and the prices of its parts."""

    def __init__(
        self,
        tensors: Tensors,
        in_place: Set[int],
        driver: Driver,
        pack: bool | None,
        answers: dict[OpenSpec, Answer],
    ) -> None:
        grouping = Grouping(laid_out(tensors, in_place)[0])
        rule = [g for g in grouping.by_rule() if not g.nodes & grouping.plain.keys()]
        self._prices = Prices(grouping, grouping.steps(rule), driver, pack, answers)
        self._rule = [(self._prices.goal(group), group) for group in rule]

    @property
    def goals(self) -> Counter[OpenSpec]:
        """The goals of the parts, and how many parts have each."""
        return Counter(goal for goal, _ in self._rule)

    def price(self, common: Counter[OpenSpec]) -> float:
        """The price of all parts but those that another way has, too."""
        rest: dict[OpenSpec, Candidate] = dict(self._rule)
        counts = self.goals - common
        self._prices.await_all(rest[goal] for goal in counts)
        return math.fsum(n * self._prices(rest[goal]) for goal, n in counts.items())

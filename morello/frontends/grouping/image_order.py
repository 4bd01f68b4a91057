"""The order of images of convolutions by groups, by price: `cheaper_orders`."""

import math
from collections import Counter

from morello.compiler.driver import Driver
from morello.frontends.grouping.beside import Answer
from morello.frontends.grouping.cheapest import Candidate
from morello.frontends.grouping.groups import Grouping
from morello.frontends.grouping.partition import Prices
from morello.frontends.nodes.channels_last import (
    CHANNELS_LAST,
    Orders,
    apart_from_products,
    by_groups,
    channels_last,
)
from morello.frontends.nodes.convolution import ImageOrder, filters_of_group
from morello.frontends.nodes.joined.computed_pieces import with_computed_pieces
from morello.frontends.nodes.prepared import Preparation, prepared
from morello.frontends.nodes.tensors import Tensors
from morello.spec import Dtype, OpenSpec


def laid_out(
    tensors: Tensors, orders: Orders = CHANNELS_LAST
) -> tuple[Tensors, Preparation | None]:
    """A program whose images lie as its parts read them, and the work on weights alone.

    Args:
        tensors: of the program.
        orders: of the images of its convolutions.
    """
    rest, preparation = prepared(channels_last(tensors, orders))
    return with_computed_pieces(rest), preparation


def has_orders(tensors: Tensors) -> bool:
    """Whether images of a program may lie in several orders."""
    return bool(apart_from_products(tensors) or by_groups(tensors))


def cheaper_orders(
    tensors: Tensors,
    driver: Driver,
    pack: bool | None,
    answers: dict[OpenSpec, Answer],
) -> Orders:
    """The orders of images that cost less than channels last.

    Args:
        tensors: of a program.
        driver: searches all.
        pack: as `Model.compile` takes it.
        answers: gets the answers of what was searched, by goal.
    """

    def way(orders: Orders) -> _Way:
        return _Way(tensors, orders, driver, pack, answers)

    regions = [
        dict.fromkeys(region, ImageOrder.IN_PLACE)
        for region in apart_from_products(tensors)
    ]
    groups, lanes = by_groups(tensors), driver.target.isa.lanes(Dtype.F32)
    narrow = [number for number, count in groups.items() if count < lanes]
    if not (regions or narrow):
        return CHANNELS_LAST
    best = way(CHANNELS_LAST)
    if narrow:  # filters of a group fill no vector
        last = way(dict.fromkeys(narrow, ImageOrder.GROUPS_LAST))
        regions.insert(0, best.cheaper_in(last, [*groups]))
    for region in filter(None, regions):
        other = way({**best.orders, **region})
        common = best.goals & other.goals
        if other.price(common) < best.price(common):
            best = other
    return best.orders


class _Way:
    """A program with one choice of image layouts, and the prices of its parts."""

    def __init__(
        self,
        tensors: Tensors,
        orders: Orders,
        driver: Driver,
        pack: bool | None,
        answers: dict[OpenSpec, Answer],
    ) -> None:
        self.orders = orders
        grouping = self._grouping = Grouping(laid_out(tensors, orders)[0])
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

    def cheaper_in(self, other: "_Way", numbers: list[int]) -> dict[int, ImageOrder]:
        """The orders of another way, of the products by groups that cost less there,
        each by itself.

        Args:
            numbers: those of all products by groups.
        """
        here, there = self._products_by_groups(), other._products_by_groups()
        if not len(numbers) == len(here) == len(there):
            return {}
        self._prices.await_all(here)
        other._prices.await_all(there)
        return {
            number: other.orders[number]
            for number, one, same in zip(numbers, here, there, strict=True)
            if number in other.orders and other._prices(same) < self._prices(one)
        }

    def _products_by_groups(self) -> list[Candidate]:
        """The groups with a product of channels in groups, in order."""
        nodes = self._grouping.nodes
        of_node = {node: group for _, group in self._rule for node in group.nodes}
        return [of_node[i] for i in sorted(nodes) if filters_of_group(nodes[i])]

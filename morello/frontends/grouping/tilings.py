"""The convolutions of a model that Winograd's algorithm computes at a lower price:
`cheaper_tilings`."""

import dataclasses
import math
from collections.abc import Callable

from morello.compiler.driver import Driver
from morello.frontends.grouping.groups import Grouping
from morello.frontends.grouping.partition import Prices
from morello.frontends.nodes.prepared import known_beforehand, prepared
from morello.frontends.nodes.tensors import Node, Source, Tensors
from morello.frontends.nodes.winograd import POINTS, Tiling, by_winograd


@dataclasses.dataclass(frozen=True)
class CheaperTiling:
    """A convolution that is computed by tiles.

    Args:
        place: of the convolution in the program.
        tiling: of the least price.
        price: of its parts, in 1/1000 cycle.
        direct: the price of the sum of products.
    """

    place: str
    tiling: Tiling
    price: float
    direct: float

    def text(self, said: Callable[[int], str]) -> str:
        """The convolution, both prices, and what becomes of rounding errors.

        Args:
            said: a price as text.
        """
        typical, bound = self.tiling.growth(2), self.tiling.growth(1)
        return (
            f"{self.place}: {self.tiling} {said(int(self.price))}, a sum of products "
            f"{said(int(self.direct))}; rounding errors {typical:.2g} times as large, "
            f"{bound:.3g} times at most"
        )


def cheaper_tilings(
    tensors: Tensors, driver: Driver, pack: bool | None
) -> dict[int, CheaperTiling]:
    """The convolutions whose tiles cost less than their sums of products, by node.

    Args:
        tensors: of a model; sizes that calls say keep the sums.
        driver: searches both.
        pack: as `Model.compile` takes it.
    """
    known = known_beforehand(tensors)
    chosen: dict[int, CheaperTiling] = {}
    prices: dict[tuple[Node, tuple[tuple[int, ...], ...], bool], list[float]] = {}
    for number, node in enumerate(tensors.all):
        if not isinstance(node, Node):
            continue
        each = {n: Tiling.of(tensors, node, n) for n in POINTS}
        tilings = {n: tiling for n, tiling in each.items() if tiling is not None}
        if not tilings:
            continue
        (filters,) = {tiling.convolution.filters for tiling in tilings.values()}
        is_known = tensors.root(node.tensors[filters]) in known
        alone = dataclasses.replace(node, tensors=(0, 1), place="", into=None, after=())
        shapes = tuple(tensors.all[tensor].shape for tensor in node.tensors)
        key = alone, shapes, is_known
        if key not in prices:
            weights = frozenset({filters}) if is_known else frozenset()
            program = _program(alone, shapes, weights)
            direct = _program(alone, shapes, weights, is_constant=True)
            ways = [direct, *(by_winograd(program, {2: n}) for n in tilings)]
            prices[key] = [_price(way, driver, pack) for way in ways]
        direct_price, *others = prices[key]
        price, n = min(zip(others, tilings, strict=True))
        if price < direct_price:
            chosen[number] = CheaperTiling(node.place, tilings[n], price, direct_price)
    return chosen


def _program(
    node: Node,
    shapes: tuple[tuple[int, ...], ...],
    weights: frozenset[int],
    is_constant: bool = False,
) -> Tensors:
    """A program of one node, which reads arguments of these shapes.

    Args:
        weights: the arguments that change seldom.
        is_constant: whether those are constants in place of arguments.
    """
    arguments: list[Source] = []
    for number, shape in enumerate(shapes):
        argument = -1 if is_constant and number in weights else number
        arguments.append(Source(f"x{number}", shape, node.dtype, argument))
    names = [one.name for one in arguments]
    return Tensors("priced", [*arguments, node], [2], names, weights=weights)


def _price(tensors: Tensors, driver: Driver, pack: bool | None) -> float:
    """The price of all parts of a program; infinite where one has none."""
    rest, _ = prepared(tensors)
    grouping = Grouping(rest)
    rule = grouping.by_rule()
    prices = Prices(grouping, grouping.steps(rule), driver, pack)
    return math.fsum(map(prices, rule))

"""The operands of a product of scaled integers, and the panels these may lie in."""

from morello.spec import Compose, Layout, PhysicalDim, SpecKey
from morello.spec.frame import Ints
from morello.spec.graphs.scaled import ScaledProduct, scaled_product
from morello.spec.index_map import IndexMap


def product_of(key: SpecKey) -> ScaledProduct | None:
    """The product that the graph of a key is; None where it is none."""
    kind = key.kind
    return scaled_product(kind.graph) if isinstance(kind, Compose) else None


def rows_of(product: ScaledProduct, sizes: tuple[Ints, ...]) -> Ints:
    """The number of rows of the output."""
    return 1 if product.rows is None else sizes[product.rows]


def panels(axes: tuple[IndexMap, ...], columns: int, width: int) -> Layout:
    """Panels of columns of an operand, one after another."""
    (axis,) = (i for i, index in enumerate(axes) if index.dim == columns)
    others = [PhysicalDim(i) for i in range(len(axes)) if i != axis]
    return Layout((PhysicalDim(axis), *others, PhysicalDim(axis, width)))


def quads(axes: tuple[IndexMap, ...], columns: int, width: int) -> Layout:
    """Panels of columns of a matrix, whose neighbours along k go together."""
    axis = next(i for i, index in enumerate(axes) if index.dim == columns)
    outer = PhysicalDim(axis), PhysicalDim(1 - axis)
    return Layout((*outer, PhysicalDim(axis, width), PhysicalDim(1 - axis, GROUP)))


GROUP = 4
"""Bytes along k that are neighbours in `quads`."""

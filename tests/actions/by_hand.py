"""Actions as a person writes them."""

import dataclasses
import itertools
from collections.abc import Iterator

from morello.actions import (
    Action,
    Border,
    Collapse,
    Cut,
    CutInPlace,
    Drop,
    GridParallel,
    Merge,
    Move,
    Online,
    Pad,
    Peel,
    Select,
    SpecializeRange,
    Split,
    SplitParallel,
    Squeeze,
    Tile,
    TileParallel,
    ToAccum,
    Unfold,
)
from morello.machine import AVX2
from morello.spec import L1, L2, MEM, VRF, Layout, Spec, parse_spec

LAYOUTS = tuple(map(Layout.parse, ("[0]", "[0,1]", "[1,0]", "[0,2,1]", "[0,1,1p4]")))


def parallel(text: str) -> Spec:
    """A Spec whose loops may be parallel."""
    return dataclasses.replace(parse_spec(text, AVX2.limits), serial=False)


def by_hand(spec: Spec) -> Iterator[Action]:
    """Actions as a person writes them, most of which do not apply: on every dimension,
    operand and node, and on some that there are not."""
    kind, graph = spec.kind, spec.kind.as_graph
    dims = [*zip(kind.dims, spec.sizes, strict=True), ("zz", 8)]
    for (dim, size), (other, _) in zip(dims, dims[1:] + dims[:1], strict=True):
        yield from (Tile(dim, 0), Tile(dim, size), Tile(dim, size - 1), Split(dim, 0))
        yield from (Split(dim, size), Split(dim, size - 1), Peel(dim, size - 1))
        yield from (Peel(dim, size), TileParallel(dim, 1), SplitParallel(dim, 2, 3))
        yield from (SplitParallel(dim, size - 1, 2), GridParallel(dim, 1, other, 1))
        yield from (GridParallel(dim, 1, dim, 1), Border(dim), Drop(dim))
        yield from (Collapse(dim, other), Collapse(other, dim))
    for name in [*(o.name for o in kind.operands), "zz"]:
        for layout, level in itertools.product(LAYOUTS, (L2, L1, VRF)):
            yield Move(name, level, layout)
        yield from (Move(name, L1, LAYOUTS[1], t) for t in ("f32", "s32", "zz"))
        yield from (SpecializeRange(name, level) for level in (L2, MEM, VRF))
        yield from (Pad(name, level, LAYOUTS[0]) for level in (L2, L1, VRF))
        yield from (Pad(name, MEM, layout) for layout in LAYOUTS)
    nodes = [f"v{place}" for place in range(len(graph.nodes))] if graph else []
    for node in [*nodes, "zz"]:
        yield from (CutInPlace(node), Online(node))
        for level, layout in itertools.product((MEM, L1, VRF), LAYOUTS[:2]):
            yield from (Cut(node, "", level, layout), Cut(node, node, level, layout))
    yield from (ToAccum(), Squeeze(), Merge(), Unfold(), Select("zz"))

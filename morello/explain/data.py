"""An explanation as JSON values, costs in millicycles."""

from typing import Any

from morello.explain.balance import Balance, balance
from morello.explain.fusion import (
    Temporary,
    Unfused,
    bytes_between,
    bytes_held,
    temporaries,
)
from morello.explain.memory import Held, Use
from morello.explain.model import Explanation, Node
from morello.explain.tiles import Tiles
from morello.search import Alternatives
from morello.spec import print_spec

VERSION = 1
"""Version of the form of the values; another one is not compatible."""


def as_data(
    explanation: Explanation, gigahertz: float, top: int, apart: Unfused | None = None
) -> dict[str, Any]:
    """The explanation, with at most ``top`` alternatives a node.

    Costs are integers in millicycles; shares go from 0 to 1; memory is counted in
    registers (VRF) or cache lines (L1, L2).
    """
    limits = explanation.target.limits
    return {
        "version": VERSION,
        "spec": print_spec(explanation.spec, limits),
        "target": explanation.target.name,
        "cost": explanation.cost,
        "stale": list(explanation.stale),
        "microseconds": explanation.cost / (gigahertz * 1e6),
        "gigahertz": gigahertz,
        "balance": _balance(balance(explanation)),
        "tables": explanation.statistics.tables,
        "tables_read": explanation.statistics.read,
        "table_parts": explanation.statistics.parts,
        "goals": dict(explanation.statistics.goals),
        "specs": explanation.statistics.specs,
        "specs_beyond": explanation.statistics.beyond,
        "program": _node(explanation.root, top),
        "temporaries": [_temporary(t) for t in temporaries(explanation)],
        "temporary_bytes": bytes_held(explanation),
        "bytes_between_nodes": bytes_between(explanation.spec),
        "unfused_cost": None if apart is None else apart.cost,
    }


def _balance(threads: Balance | None) -> dict[str, Any] | None:
    if threads is None:
        return None
    return {
        "threads": threads.threads,
        "busiest": threads.busiest,
        "total": threads.total,
        "apart": threads.apart,
    }


def _temporary(temporary: Temporary) -> dict[str, Any]:
    return {
        "node": temporary.node,
        "value": temporary.name,
        "shape": list(temporary.shape),
        "level": str(temporary.level),
        "bytes": temporary.bytes,
        "runs": temporary.runs,
    }


def _node(node: Node, top: int) -> dict[str, Any]:
    spec = node.impl.spec
    alternatives = node.alternatives
    return {
        "node": node.number,
        "role": node.role,
        "times": node.times,
        "runs": node.runs,
        "kind": spec.kind.label,
        "sizes": dict(zip(spec.kind.dims, spec.sizes, strict=True)),
        "action": str(node.impl.action),
        "cost": node.impl.cost,
        "own_cost": node.own_cost,
        "share": node.share,
        "own_share": node.own_share,
        "operands": [_tiles(t) for t in node.tiles],
        "memory": {str(use.level): _use(use) for use in node.memory},
        "alternatives": None
        if alternatives is None
        else _alternatives(alternatives, top),
        "same_as": node.same_as,
        "children": [_node(child, top) for child in node.children],
    }


def _tiles(tiles: Tiles) -> dict[str, Any]:
    return {
        "name": tiles.name,
        "origin": tiles.origin,
        "shape": list(tiles.shape),
        "stages": [
            {
                "level": str(stage.level),
                "layout": str(stage.layout),
                "shape": list(stage.shape),
                "amount": stage.amount,
                "is_copy": stage.is_copy,
            }
            for stage in tiles.stages
        ],
    }


def _use(use: Use) -> dict[str, Any]:
    return {
        "unit": use.unit,
        "capacity": use.capacity,
        "held": [_held(h) for h in use.held],
        "free": use.free,
        "taken": None if use.taken is None else _held(use.taken),
        "left": use.left,
    }


def _held(held: Held) -> dict[str, Any]:
    return {"origin": held.origin, "shape": list(held.shape), "amount": held.amount}


def _alternatives(alternatives: Alternatives, top: int) -> dict[str, Any]:
    return {
        "applicable": alternatives.applicable,
        "ties": alternatives.ties,
        "dead_ends": alternatives.dead_ends,
        "rejected": [
            {"action": str(a.action), "cost": a.impl.cost, "excess": a.excess}
            for a in alternatives.rejected[:top]
        ],
    }

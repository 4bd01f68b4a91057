"""The passes over a DAG of tensors, in order."""

from morello.frontends.nodes.broadcasts import without_broadcasts
from morello.frontends.nodes.byte_products import in_bytes
from morello.frontends.nodes.halving import halved
from morello.frontends.nodes.joined.mapped_pieces import with_mapped_pieces
from morello.frontends.nodes.joined.surroundings import without_surroundings
from morello.frontends.nodes.narrow_factors import narrowed
from morello.frontends.nodes.pointwise import absorbed, shared
from morello.frontends.nodes.products import hoisted
from morello.frontends.nodes.reshapes import without_reshapes
from morello.frontends.nodes.rows.running import with_running_sums
from morello.frontends.nodes.rows.softmax import guarded
from morello.frontends.nodes.spread import unspread
from morello.frontends.nodes.tensors import Tensors


def improved(tensors: Tensors) -> Tensors:
    """The tensors of a model as graphs compute them best."""
    steps = (
        with_running_sums,
        halved,  # while rows and columns of weights are one dimension each
        without_reshapes,
        without_broadcasts,
        without_surroundings,
        narrowed,  # before casts are absorbed
        absorbed,
        with_mapped_pieces,
        guarded,
        hoisted,
        in_bytes,
        absorbed,
        shared,
        halved,
        unspread,
    )
    for step in steps:
        tensors = step(tensors)
    return tensors

"""The cost model of a target: `cost_model`."""

import functools

from morello.cost.affine import AffineCostModel
from morello.cost.model import CostModel
from morello.machine.target import Target


@functools.lru_cache(None)
def cost_model(target: Target) -> CostModel:
    """The model that prices programs of a target."""
    return AffineCostModel(target)

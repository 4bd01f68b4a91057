"""The cost model of a target: `cost_model`, and `kernel_cost`."""

import functools

import numpy as np

from morello.cost.affine import AffineCostModel
from morello.cost.counts import OpCounts
from morello.cost.model import CostModel
from morello.machine.digests import COST_MODEL
from morello.machine.fallback import fallback
from morello.machine.target import Target
from morello.spec.frame import Frame, Ints


@functools.lru_cache(None)
def cost_model(target: Target) -> CostModel:
    """The model that prices programs of a target."""
    return AffineCostModel(fallback(target, COST_MODEL) or target)


def kernel_cost(kernel: str, frame: Frame, counts: OpCounts, target: Target) -> Ints:
    """Millicycles of a run of a kernel; where its price is stale, the greater of that
    and of what the generic target says."""
    cost = cost_model(target).kernel(frame, counts)
    other = fallback(target, kernel)
    if other is None:
        return cost
    return np.maximum(cost, cost_model(other).kernel(frame, counts))

"""Trees with fewer leaves: `pruned`."""

import numpy as np

from morello.learned.trees import Trees

NEAR = 2 / 1024
"""Leaves of a subtree that differ by no more are one leaf in `pruned`."""


def pruned(trees: Trees) -> Trees:
    """Trees in which a subtree is one leaf where its leaves differ by at most
    `NEAR`; the leaf has their mean."""
    is_leaf, right = (trees.feature < 0).tolist(), trees.right.tolist()
    low, high, total = (trees.value.tolist() for _ in range(3))
    leaves = [1] * len(is_leaf)
    for node in reversed(range(len(is_leaf))):
        if not is_leaf[node]:
            children = node + 1, right[node]
            low[node] = min(low[child] for child in children)
            high[node] = max(high[child] for child in children)
            total[node] = sum(total[child] for child in children)
            leaves[node] = sum(leaves[child] for child in children)
    pruned = np.array(high) - np.array(low) <= NEAR
    reached, rest = [], trees.roots.tolist()[::-1]
    while rest:
        reached.append(node := rest.pop())
        rest += [] if pruned[node] else [right[node], node + 1]
    nodes, is_leaf = np.array(reached, np.int64), pruned[reached]
    mean = np.array(total) / np.array(leaves)
    return Trees(
        np.where(is_leaf, -1, trees.feature[nodes]),
        np.where(is_leaf, 0.0, trees.threshold[nodes]),
        np.where(is_leaf, mean[nodes], 0.0),
    )

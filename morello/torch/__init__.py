"""``torch.compile(model, backend="morello")``.

    FX graph of ATen ops -> shapes.py      one for each shape, where shapes are dynamic
                         -> constants.py   what depends on no argument, computed once
                         -> partition.py   groups of nodes that Morello may compile
                         -> group.py       a group: eager until its program is found
                         -> rules.py       larger ops in ops that the importer knows
                         -> lowering.py    a group as linalg on tensors
                         -> `morello.from_mlir`, one function for the whole group
                         -> native_call.py  the call of its program

`dynamo_backend.py` is the entry point, `options.py` has what a user may set.

`growing.py` and `grouped_products.py` have ops between groups that are one program of
many sizes: attention to a cache that grows, products of groups of rows.

`graph_breaks.py` tells of what Dynamo leaves to eager.

`operator.py` makes an operator of a kernel, and a kernel of a module.

Invariants: a group computes what eager computes, and if Morello cannot compile it, it
stays eager; tensors are read where they lie; all work on MLIR is done by one thread.
"""

try:
    import torch  # noqa: F401 (to say at once what is missing)
    import xxhash  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"morello.torch needs the package {error.name}: pip install 'morello[torch]'"
    ) from error

from morello.torch.dynamo_backend import backend
from morello.torch.graph_breaks import watch
from morello.torch.operator import export, operator
from morello.torch.worker import wait

__all__ = ["backend", "export", "operator", "wait"]

watch()

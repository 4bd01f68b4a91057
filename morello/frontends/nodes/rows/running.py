"""Running sums in steps that double: `with_running_sums`.

Exporters write them as sums of windows that reach back to the first element, which take
a step for each pair of elements. Here each step adds what is 1, 2, 4 … places before.
"""

from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Access, Node, Tensors, identity_axes
from morello.spec.graphs.expression import Call, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, renamed

_LEAST = 32
"""Elements of a row from which on a pass over it for each step is less work."""


def with_running_sums(tensors: Tensors) -> Tensors:
    """Makes each running sum along an axis several maps."""
    return _RunningSums(tensors).run()


class _RunningSums(Rewriter):
    def node(self, number: int, node: Node) -> int:
        """Add the steps of a running sum; any other node as it is."""
        axis = _axis(node)
        if axis is None or node.into is not None:
            return self.add(node)
        shape, identity = node.shape, identity_axes(node.shape)
        places = {a.dim: i for i, a in enumerate(node.axes) if a.dim is not None}
        (dim,) = (d for d in node.reads[0].axes[axis].dims if d in places)
        plain = list(node.reads[0].axes)
        plain[axis] = IndexMap.of(dim)
        sums = Access(node.reads[0].tensor, renamed(tuple(plain), places))
        step = 1
        while step < node.extents[dim]:
            axes = list(sums.axes)
            axes[axis] = IndexMap(((places[dim], 1),), step, -step)
            reads = sums, Access(sums.tensor, tuple(axes))
            total = Call("add", (Reference(0), Reference(1)))
            maps = Node.of(shape, identity, MAP, total, reads, node.dtype, node.place)
            sums, axis, step = Access(self.add(maps), identity), places[dim], 2 * step
        return sums.tensor


def _axis(node: Node) -> int | None:
    """The axis along which a node sums all elements up to each; None for others."""
    if node.reduction != "sum" or node.expression != Reference(0):
        return None
    axes = node.reads[0].axes
    sums = [
        place for place, axis in enumerate(axes) if axis.dim is None and axis != ONE
    ]
    if len(sums) != 1 or len(node.reduced) != 1 or len(axes[sums[0]].terms) != 2:
        return None
    terms = axes[sums[0]].terms
    size = node.extents[terms[0][0]]
    is_running = (
        size >= _LEAST
        and all(step == 1 and node.extents[dim] == size for dim, step in terms)
        and sum(dim in node.reduced for dim, _ in terms) == 1
        and axes[sums[0]] == IndexMap(terms, size - 1, 0)
    )
    return sums[0] if is_running else None

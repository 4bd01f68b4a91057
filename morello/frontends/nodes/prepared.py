"""Precomputation of what depends on constants and weights alone: once, not in calls.

Maps and small reductions of constants and weights (a batch norm's scale, filters in
another order, sums of quantised filters) are no part of a compiled model, which reads
their results. Those of constants are computed here; those of weights, which are
arguments that seldom change, by `Preparation`, whenever the caller says so. Equal
arrays, as masks that an exporter writes for each layer, are one, unless they are
factors of products, each of which may be packed for its product. Masks of zeros go.
"""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping

import numpy as np

from morello.frontends.grouping.evaluating import evaluate_part
from morello.frontends.grouping.group_dims import UnfitError
from morello.frontends.grouping.groups import is_product, is_short
from morello.frontends.grouping.parts import part_of_nodes
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.rows.zeros import without_zeros
from morello.frontends.nodes.tensors import (
    Array,
    Joined,
    Node,
    Plain,
    Source,
    Tensor,
    Tensors,
    View,
    Within,
)


def known_beforehand(tensors: Tensors) -> frozenset[int]:
    """The tensors that depend on constants and weights alone, and on no long product of
    floats: those of integers are sums of weights that quantised images need."""
    known: set[int] = set()
    for number, tensor in enumerate(tensors.all):
        match tensor:
            case Source(argument=argument):
                is_known = argument < 0 or argument in tensors.weights
            case View(tensor=viewed):
                is_known = viewed in known
            case Node():
                is_known = not _takes_long(tensors, tensor) and all(
                    access.tensor in known for access in tensor.reads
                )
                if is_known and tensor.into is not None:
                    known |= _joined_by(tensors, number, tensor.into, known)
                    continue
            case Joined() | Plain():
                is_known = False
        if is_known:
            known.add(number)
    return frozenset(known)


def _joined_by(
    tensors: Tensors, number: int, into: Within, known: set[int]
) -> set[int]:
    """A known piece and, if it is the last one, the tensor that the pieces make."""
    joined = tensors.all[into.tensor]
    assert isinstance(joined, Joined)
    last = number == max(joined.pieces) and joined.fill in ("", "zero")
    is_whole = last and known | {number} >= {*joined.pieces}
    return {number, into.tensor} if is_whole else {number}


def _takes_long(tensors: Tensors, node: Node) -> bool:
    """Whether a node is a product of floats that NumPy would take long for."""
    return is_product(node) and node.dtype.is_float and not is_short(tensors, node)


@dataclasses.dataclass(frozen=True)
class Preparation:
    """The computation of arrays from a model's weights, before the model is called."""

    tensors: Tensors
    nodes: tuple[int, ...]
    """In the order in which they are computed."""
    outputs: dict[str, int]
    """The name of each array that the model reads, and its node."""

    @property
    def arguments(self) -> frozenset[int]:
        """The arguments that it reads, by number."""
        nodes = [self.tensors.all[node] for node in self.nodes]
        reads = [a.tensor for n in nodes if isinstance(n, Node) for a in n.reads]
        sources = [self.tensors.all[self.tensors.root(read)] for read in reads]
        numbers = (g.argument for g in sources if isinstance(g, Source))
        return frozenset(argument for argument in numbers if argument >= 0)

    def run(self, arguments: Mapping[int, Array]) -> dict[str, Array]:
        """The arrays that the model reads, by name.

        Args:
            arguments: the weights, C-contiguous, by the number of the argument.
        """
        known: dict[int, Array] = {}
        for number, tensor in enumerate(self.tensors.all):
            if isinstance(tensor, Source):
                array = arguments.get(tensor.argument, tensor.array)
                if array is not None:
                    known[number] = np.ascontiguousarray(array).reshape(-1)
        for node in self.nodes:
            part = part_of_nodes(self.tensors, (node,), (node,))
            evaluate_part(part, known, self.tensors)
        return {
            name: known[node].reshape(self.tensors.all[node].shape)
            for name, node in self.outputs.items()
        }


def prepared(tensors: Tensors) -> tuple[Tensors, Preparation | None]:
    """The tensors of which what is known beforehand is given, and how the rest of that
    is computed of weights; None where it is all of constants."""
    rest, preparation = _Preparing(tensors).prepare()
    return without_zeros(rest), preparation


class _Preparing(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        known = known_beforehand(old)
        fit = {number for number in known if self._may_be_left_out(number)}
        self.left_out = {number for number in fit if self._is_whole(number, fit)}
        self.outputs = self._outputs()
        self.arrays: dict[str, Array] = {}
        nodes = [t for t in old.all if isinstance(t, Node) and is_product(t)]
        self._factors = {old.root(read.tensor) for node in nodes for read in node.reads}
        self._computed: dict[tuple[object, ...], int] = {}

    def _outputs(self) -> dict[str, int]:
        """The precomputed nodes that the rest of the model reads, by name."""
        nodes: dict[int, None] = {}
        for number, tensor in enumerate(self.old.all):
            if isinstance(tensor, Node) and number not in self.left_out:
                roots = [self.old.root(access.tensor) for access in tensor.reads]
                nodes |= dict.fromkeys(root for root in roots if root in self.left_out)
        taken = {t.name for t in self.old.all if isinstance(t, Source)}
        names = (f"prepared{i}" for i in itertools.count())
        return dict(zip((n for n in names if n not in taken), nodes, strict=False))

    def _may_be_left_out(self, number: int) -> bool:
        """Whether a tensor can be computed beforehand, if the pieces of it can be."""
        tensor = self.old.all[number]
        if isinstance(tensor, Joined):
            return True
        if not isinstance(tensor, Node) or number in self.results:
            return False
        try:
            part_of_nodes(self.old, (number,), (number,))
        except UnfitError:
            return False
        return True

    def _is_whole(self, number: int, fit: set[int]) -> bool:
        """Whether all pieces of a joined tensor can be computed beforehand with it."""
        tensor = self.old.all[number]
        whole = number
        if isinstance(tensor, Node) and tensor.into is not None:
            whole = tensor.into.tensor
        joined = self.old.all[whole]
        return whole in fit and (
            not isinstance(joined, Joined) or fit >= {*joined.pieces}
        )

    def prepare(self) -> tuple[Tensors, Preparation | None]:
        """Computes what depends on constants; returns the rest as `prepared` does."""
        every = self.outputs.items()
        each = {name: self._preparation({name: node}) for name, node in every}
        constant = {name: node for name, node in every if not each[name].arguments}
        self.arrays = self._preparation(constant).run({})
        rest_of_dag = self.run()
        rest = {name: node for name, node in every if name not in constant}
        return rest_of_dag, self._preparation(rest) if rest else None

    def _preparation(self, outputs: dict[str, int]) -> Preparation:
        needed: set[int] = set()
        stack = list(outputs.values())
        while stack:
            number = stack.pop()
            tensor = self.old.all[number]
            if isinstance(tensor, Node) and number not in needed:
                needed.add(number)
                stack += [self.old.root(access.tensor) for access in tensor.reads]
            elif isinstance(tensor, Joined):
                stack += tensor.pieces
        return Preparation(self.old, tuple(sorted(needed)), outputs)

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if (
            isinstance(tensor, Source)
            and tensor.argument < 0
            and self._is_unread(number)
        ):
            return None
        if number in self.left_out:
            return self._left_out(number, tensor)
        return super()._rewritten(number, tensor)

    def _is_unread(self, number: int) -> bool:
        """Whether only what is prepared reads a constant."""
        if number in map(self.old.root, self.old.seen):
            return False
        return not any(
            isinstance(tensor, Node)
            and any(self.old.root(a.tensor) == number for a in tensor.reads)
            and i not in self.left_out
            for i, tensor in enumerate(self.old.all)
        )

    def _left_out(self, number: int, tensor: Tensor) -> int | None:
        """The result that is read in the place of a tensor; nothing where only others
        that are left out read it."""
        assert isinstance(tensor, Node | Joined)
        for name, output in self.outputs.items():
            if output == number:
                array = self.arrays.get(name)
                source = Source(name, tensor.shape, tensor.dtype, -1, array)
                if array is None or number in self._factors:
                    return self.new.add(source)
                digest = hashlib.sha256(array.tobytes()).digest()
                key = source.shape, source.dtype, digest
                if key not in self._computed:
                    self._computed[key] = self.new.add(source)
                return self._computed[key]
        return None

"""SplitParallel: shares of a reduction, one for each thread, then their results merged.

Before::

    out = sum(k=1000, …)

After ``SplitParallel("k", 512, 2)`` on two threads::

    part = 0                                      # init: one partial result a thread
    for each thread, at the same time:
        the first:  part[0] += sum(k=512, …)      # main
        the last:   part[1] += sum(k=488, …)      # remainder
    out = part[0] + part[1]                       # merge

A graph may have several partial results, maxima that sums are relative to among them:
these sums are brought to the maximum of all shares before they are added
(`morello/spec/graphs/partials.py`). So one row of a softmax, or one query of attention,
is shared out along its elements.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

from morello.actions.base import Action, Axes, Child, Expansion
from morello.actions.graphs.parts import PartKey, followed, part_key
from morello.actions.loops.base import expand_loop
from morello.actions.to_accum import INITS
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import (
    MEM,
    Dtype,
    Fill,
    Kind,
    Layout,
    Reform,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec.elements.dtypes import computed_in
from morello.spec.embedding import ONE
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.partials import merging
from morello.spec.shares import is_worth_sharing, share_of
from morello.spec.structure import neutral_of

FEWEST = 2
"""Shares."""


@dataclasses.dataclass(frozen=True)
class Sharing:
    """How a key is shared out along one of its reductions."""

    form: Reform
    """The form of the Spec of each thread; it adds to its output."""
    dim: int
    """The reduction, of the form."""
    tensors: tuple[TensorSpec, ...]
    """The forms of its operands."""
    partial: tuple[int, ...]
    """The outputs of which each thread has a partial result."""
    buffers: tuple[TensorSpec, ...]
    """For each output the form of the buffer of all partial results."""
    merge: PartKey
    """The key of the sum of partial results: the value of operand i is -1 - i."""
    share: int = -1
    """The dimension of `merge` that counts shares."""


@dataclasses.dataclass(frozen=True, order=True)
class SplitParallel(Action):
    """A parallel loop over ``parts`` shares of the reduction ``dim``.

    Each is of ``size``, but the last, which has what remains. It stands outside of
    every private memory, and what it leaves is serial.
    """

    name: ClassVar[str] = "split_parallel"
    by_sizes: ClassVar[bool] = True
    turn: ClassVar[int] = 5
    forks: ClassVar[bool] = True
    dim: str
    """The name of a reduction dimension."""
    size: int
    """The size of a share, smaller than the dimension."""
    parts: int
    """How many shares there are, the last one among them; one thread does each."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``init`` (for more outputs ``init1``, …), ``main``, ``remainder`` and
        ``merge``.

        cost = init + main + merge + `CostModel.parallel`: shares that are smaller hide
        behind others.
        """
        sharing = self.sharing(frame.key, target)
        if isinstance(sharing, str):
            return Expansion.refused(sharing)
        form, dim, parts = sharing.form, sharing.dim, self.parts
        sizes = tuple(frame.sizes[d] for d in form.dims)
        body = SpecKey(form.kind, sharing.tensors, serial=True)
        whole = Frame(body, sizes, frame.limits)
        loop = expand_loop(whole, dim, self.size, target)
        main, rest = loop.children
        count = main.times + rest.times
        conditions = (
            *loop.conditions,
            Condition(
                count == parts,
                lambda: f"shares of {self.size} are {count}, not {parts}",
            ),
        )
        children = []
        for role, out, buffer in zip(
            INITS, sharing.partial, sharing.buffers, strict=False
        ):
            operand = form.kind.operands[out]
            fill = Fill(operand.rank + 1, neutral_of(form.kind, out))
            child_sizes = (parts, *operand.sizes(sizes))
            dims = (-1 - parts, *(form.dims[d] for d in operand.dims))
            key = SpecKey(fill, (buffer,), serial=True)
            children.append(Child(role, Frame(key, child_sizes, frame.limits), 1, dims))
        children.append(Child("main", main.frame, 1, form.dims))
        children.append(Child("remainder", rest.frame, 0, form.dims, rest.times))
        children.append(self._merge(sharing, sizes, frame))
        return Expansion(conditions, cost_model(target).parallel(1, 0), tuple(children))

    def _merge(self, sharing: Sharing, sizes: tuple[Any, ...], frame: Frame) -> Child:
        merge_sizes: list[Any] = []
        dims: list[int] = []
        for dim in sharing.merge.dims:
            is_one, is_share = dim == ONE, dim == sharing.share
            merge_sizes.append(1 if is_one else self.parts if is_share else sizes[dim])
            new = -1 - self.parts if is_share else ONE
            dims.append(new if is_one or is_share else sharing.form.dims[dim])
        merge_frame = Frame(sharing.merge.key, tuple(merge_sizes), frame.limits)
        return Child("merge", merge_frame, 1, tuple(dims))

    def sharing(self, key: SpecKey, target: Target) -> Sharing | str:
        """The work of each thread and how the results are merged; or the reason why the
        reduction cannot be shared out."""
        if key.serial:
            return "the Spec is serial: parallel loops are forbidden in it"
        if not FEWEST <= self.parts <= target.threads:
            return (
                f"{self.parts} shares on {target.threads} threads: there are at least "
                f"{FEWEST}, and one thread does each"
            )
        return _sharing(key, self.dim)

    def team_runs(self, spec: Spec) -> dict[str, int]:
        """Every share."""
        whole, rest = divmod(spec.sizes[spec.kind.dims.index(self.dim)], self.size)
        return {"main": whole, "remainder": int(rest > 0)}

    def feature(self, key: SpecKey) -> str:
        """The dimension that threads share."""
        return f"parallel {self.dim}"

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """A share for each thread, or for each of fewer threads, where the reduction is
        much longer than what is left of it: only then the results are merged in no
        time, and there is nothing better to share out."""
        if key.serial:
            return
        kind = key.kind
        whole = tuple(axis[-1] if axis else 0 for axis in axes)
        for dim in kind.reductions:
            if not is_worth_sharing(kind.reductions, whole, dim):
                continue
            for parts in range(FEWEST, target.threads + 1):
                size = share_of(whole[dim], parts)
                action = cls(kind.dims[dim], size, parts)
                fits = target.threads % parts == 0 and size in axes[dim][:-1]
                if fits and not isinstance(action.sharing(key, target), str):
                    yield action


@lru_cache(maxsize=65536)
def _sharing(key: SpecKey, name: str) -> Sharing | str:
    kind = key.kind
    legal = [kind.dims[d] for d in kind.reductions]
    if name not in legal:
        return (
            f"'{name}' is not a reduction of {kind.label}; "
            f"those are: {', '.join(legal) or 'none'}"
        )
    form = kind.reform or _itself(kind)
    dim = form.dims.index(kind.dims.index(name))
    inner = form.kind
    operands = inner.operands
    if not inner.loops(dim):
        return f"parts along '{name}' are no results that could be merged"
    partial = tuple(i for i in inner.written if dim not in operands[i].dims)
    if len(partial) > len(INITS):
        return f"it has more than {len(INITS)} outputs that are reduced"
    if any(operands[i].is_read for i in inner.written if i not in partial):
        return f"an output that is added to has '{name}'"
    if any(not t.level.is_main for t in key.tensors):
        return "an operand is in a memory of one core: loop over threads before"
    dtypes = {key.tensors[at].dtype for i in partial if (at := form.operands[i]) >= 0}
    if dtypes not in ({Dtype.F32}, {Dtype.S32}):
        return "partial results are merged in f32 or s32 only"
    return _forms(key, form, dim, partial)


def _forms(
    key: SpecKey, form: Reform, dim: int, partial: tuple[int, ...]
) -> Sharing | str:
    operands, number = form.kind.operands, computed_in(key.dtypes)
    partials, buffers = {}, []
    for out in partial:
        at = form.operands[out]
        whole = key.tensors[at].contiguous if at >= 0 else False
        row = Layout.row_major(operands[out].rank)
        partials[out] = TensorSpec(number, MEM, row, whole)
        buffers.append(
            TensorSpec(number, MEM, Layout.row_major(operands[out].rank + 1))
        )
    forms = tuple(
        partials[i] if i in partials else key.tensors[at]
        for i, at in enumerate(form.operands)
    )
    forms = followed(form.kind, forms)
    accumulates = {i: key.kind.operands[i].is_read for i in key.kind.written}
    results = tuple(
        (out, accumulates[form.operands[out]])
        for out in partial
        if form.operands[out] >= 0
    )
    merger = merging(form.kind, partial, results)
    tensors = {-1 - out: buffers[i] for i, out in enumerate(partial)}
    tensors |= {
        out: dataclasses.replace(key.tensors[form.operands[out]], contiguous=False)
        for out, _ in results
    }
    merge = part_key(form.kind, merger.part, tensors, serial=True)
    if merge is None:
        return "no kind takes the partial results"
    return Sharing(form, dim, forms, partial, tuple(buffers), merge, merger.share)


def _itself(kind: Kind) -> Reform:
    """A kind that adds already."""
    dims, operands = range(len(kind.dims)), range(len(kind.operands))
    return Reform(kind, tuple(dims), tuple(operands))

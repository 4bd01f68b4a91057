"""Move: an operand is brought to a nearer memory, another layout or another dtype.

Into a cache in the form that it has, nothing is copied: the rewrite says that the tile
is used from there now, and pays for the lines that the hardware brings. Into registers,
or into another form, the operand gets a buffer of its own::

    move(src=operand, dst=buffer)      # prologue, if the Spec reads the operand
    matmul(…, buffer, …)               # body
    move(src=buffer, dst=operand)      # epilogue, if the Spec writes the operand

The search tries the forms that kernels ask for (`Kernel.forms`). Forms only go one way,
so that no program moves in circles: to a nearer level; at one level to a wider dtype;
at one level and dtype from an unpacked layout to a packed one. What is packed as some
kernel asks for stays so.

Memories are filled from the farthest to the nearest (`may_fill`): once an operand is in
L1, nothing moves to L2 any more, and what is left of L2 decides nothing.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion, canonical
from morello.actions.copies.forms import (
    asked_forms,
    forms_beforehand,
    makes_progress,
    register_forms,
    relayout_levels,
)
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import (
    ELEMENT_TYPES,
    L1,
    Dtype,
    Form,
    Kind,
    Layout,
    Memory,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec import Move as MoveKind
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.mixes import may_widen
from morello.spec.structure import contractions, followers, has_several_products, leader


@dataclasses.dataclass(frozen=True, order=True)
class Move(Action):
    """The operand called ``operand`` moves to ``level`` in ``layout`` and ``dtype``."""

    name: ClassVar[str] = "move"
    turn: ClassVar[int] = 2
    takes_ranges: ClassVar[bool] = True
    operand: str
    level: Memory
    """A nearer level; or the same one, in another form."""
    layout: Layout
    dtype: str = ""
    """The name of a wider dtype that the operand takes; empty if it keeps its own."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``prologue``, ``body`` and ``epilogue``, or ``body`` alone."""
        names = [o.name for o in frame.key.kind.operands]
        if self.operand not in names:
            reason = (
                f"it has no operand '{self.operand}'; those are: {', '.join(names)}"
            )
            return Expansion.refused(reason)
        index = names.index(self.operand)
        reason = self._form_refusal(frame.key, frame.key.tensors[index], index)
        if reason:
            return Expansion.refused(reason)
        first = leader(frame.key.kind, index)
        if first != index:
            reason = f"'{self.operand}' follows '{names[first]}': move that"
            return Expansion.refused(reason)
        return self._expand(frame, target, index)

    def _form_refusal(self, key: SpecKey, source: TensorSpec, index: int) -> str:
        """Why the operand cannot take the form, whatever its sizes; empty if it can."""
        name, layout = self.operand, self.layout
        if layout.rank != source.rank:
            return (
                f"the layout {layout} has {layout.rank} dimensions, not {source.rank}"
            )
        if source.level.is_registers:
            return f"'{name}' is in registers already"
        if not key.kind.operands[index].is_plain and (
            self.dtype or self.level.is_registers or layout != source.layout
        ):
            return f"'{name}' is read through a window: it cannot be copied"
        if self.level is not source.level and not source.level.is_beyond(self.level):
            return f"{self.level} is farther than {source.level}"
        if self.dtype:
            return self._cast_refusal(key, source, index)
        if self.level == source.level and layout == source.layout:
            return f"'{name}' is in {self.level} with the layout {layout} already"
        if self.level.is_registers:
            return self._register_refusal(key, source)
        if key.kind.copies and layout != source.layout:
            return "a move changes the layout itself: its operands only change caches"
        return ""

    def _cast_refusal(self, key: SpecKey, source: TensorSpec, index: int) -> str:
        """Why the operand cannot take the wider dtype; empty if it can."""
        if self.dtype not in {t.value for t in ELEMENT_TYPES}:
            return f"'{self.dtype}' is no dtype"
        if key.kind.moves_data:
            return f"a {key.kind.name} casts itself: its operands keep their dtypes"
        if not may_widen(key.kind, key.dtypes, index, Dtype.parse(self.dtype)):
            return (
                f"'{self.operand}' cannot be {self.dtype} in its stead: "
                f"{key.kind.label} on {','.join(map(str, key.dtypes))} would not be "
                "the same"
            )
        if self.level.is_registers:
            return self._register_refusal(key, source)
        return ""

    def _register_refusal(self, key: SpecKey, source: TensorSpec) -> str:
        """Why the operand cannot be in registers; empty if it can."""
        if key.kind.copies:
            return "a move has no operand of its own in registers"
        if source.level is not self.level.source:
            near = self.level.source
            return f"registers are filled from {near}, not from {source.level}"
        if not self.layout.is_row_major:
            return f"registers hold row-major tiles, not {self.layout}"
        return ""

    def destination(self, source: TensorSpec, target: Target) -> TensorSpec:
        """The form that the operand takes.

        Gaps decide nothing any more in L1: a tile there has paid for its lines.
        """
        dtype = Dtype.parse(self.dtype) if self.dtype else source.dtype
        if self.level.is_registers:
            width = target.lanes(self.level, dtype)
            return TensorSpec(dtype, self.level, self.layout, vector_width=width)
        same = self.layout == source.layout and dtype is source.dtype
        whole = same and source.contiguous and not self.level.is_near
        return TensorSpec(dtype, self.level, self.layout, whole)

    def _expand(self, frame: Frame, target: Target, index: int) -> Expansion:
        source = frame.key.tensors[index]
        dest = self.destination(source, target)
        sizes = frame.operand_sizes(index)
        lying = held(source, dest)
        resident = _is_resident(source, dest, target)
        amount = 0 if resident or self.level.is_main else lying.amount(sizes)
        along = self._along(frame.key, index, target)
        for follower, form in along.items():
            tensor = frame.key.tensors[follower]
            if not _is_resident(tensor, form, target):
                lines = held(tensor, form).lines(frame.operand_sizes(follower))
                amount = amount + lines
        conditions = (
            *_full_packs(self.operand, source, dest, sizes),
            *_fits(frame, self.operand, lying, sizes, amount, target),
            *self._few_runs(frame.key, source, lying, sizes, target),
        )
        limits = target.take(frame.limits, self.level, amount)
        key = self._body_key(frame.key, index, dest, along)
        body = Frame(key, frame.sizes, limits)
        every = tuple(range(len(frame.sizes)))
        inner = Child("body", body, 1, every)
        if copies(source, dest):
            children = _with_copies(frame, index, dest, inner)
            cost = cost_model(target).buffer(frame, index, dest)
            for follower, form in along.items():
                cost = cost + cost_model(target).transfer(frame, follower, form)
            return Expansion(conditions, cost, children)
        cost = cost_model(target).transfer(frame, index, dest)
        for follower, form in along.items():
            cost = cost + cost_model(target).transfer(frame, follower, form)
        return Expansion(conditions, cost, (inner,))

    def _along(self, key: SpecKey, index: int, target: Target) -> dict[int, TensorSpec]:
        """The operands that come along, and the forms that they take."""
        level = self.level.backing
        return {
            follower: tensor.brought_to(level)
            for follower in followers(key.kind, index)
            if (tensor := key.tensors[follower]).level.is_beyond(level)
        }

    def _body_key(
        self, key: SpecKey, index: int, dest: TensorSpec, along: dict[int, TensorSpec]
    ) -> SpecKey:
        """The key with the operand's new form; nearer than memory is one core's own, so
        that there are no threads from there on."""
        forms = {**along, index: dest}
        tensors = tuple(forms.get(i, tensor) for i, tensor in enumerate(key.tensors))
        serial = key.serial or not self.level.is_main
        return SpecKey(key.kind, tensors, serial)

    def _few_runs(
        self,
        key: SpecKey,
        source: TensorSpec,
        lying: TensorSpec,
        sizes: tuple[Ints, ...],
        target: Target,
    ) -> tuple[Condition, ...]:
        """Condition that a strided operand in L1 has no more contiguous runs than L1
        has ways. Copies for graphs are contiguous and need none; it also leaves long
        copies for single products to packed layouts, which are faster."""
        gapless = copies(source, lying) and key.kind.as_graph is not None
        if gapless or lying.level is not L1 or lying.layout.is_packed:
            return ()
        runs = lying.runs(sizes)
        return (
            Condition(
                runs <= target.l1_ways,
                lambda: (
                    f"'{self.operand}' has {runs} rows with gaps between them, more "
                    f"than the {target.l1_ways} ways of L1: their lines may push each "
                    "other out"
                ),
            ),
        )

    def feature(self, key: SpecKey) -> str:
        """The operand, and where it is copied in which form."""
        source = key.tensors[_index(key, self.operand)]
        dtype = Dtype.parse(self.dtype) if self.dtype else source.dtype
        plain = self.layout == source.layout and dtype is source.dtype
        if plain and not self.level.is_registers:
            return ""
        form = "" if self.layout.is_row_major else str(self.layout)
        wider = f":{self.dtype}" if self.dtype else ""
        return f"{self.operand}{wider}{form}@{self.level}"

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """The key with only the moved operand and the dtypes of the others; the whole
        key of a copy."""
        if key.kind.copies:
            return key
        return _relevant(key, _index(key, self.operand))

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether no operand that moves has a size without end."""
        kind, index = spec.kind, _index(spec.key, self.operand)
        moved = (index, *followers(kind, index))
        return not any(spec.open_dims & {*kind.operands[i].dims} for i in moved)

    def child_keys(self, key: SpecKey, target: Target) -> tuple[SpecKey, ...]:
        """The keys of the copies, if any, and of the body, in the order of `expand`."""
        index = _index(key, self.operand)
        source = key.tensors[index]
        dest = self.destination(source, target)
        body = self._body_key(key, index, dest, self._along(key, index, target))
        if not copies(source, dest):
            return (body,)
        return _copy_keys(key, index, dest, body)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that may be filled from a farther memory or another layout."""
        farthest = max(tensor.level for tensor in key.tensors)
        free = frozenset(level for level in target.caches if may_fill(key, level))
        nearer = frozenset(level for level in free if level < farthest)
        same = free - nearer
        return nearer | (same & relayout_levels(key, target)) if same else nearer

    @classmethod
    def forms_beforehand(
        cls, key: SpecKey, operand: int, target: Target
    ) -> tuple[Form, ...]:
        """The packed forms of an operand that kernels ask for."""
        return forms_beforehand(key, operand, target)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Nearer caches, the forms that kernels ask for, and registers."""
        yield from _candidates(key, target.plain, target.home)


@lru_cache(maxsize=65536)
def _candidates(key: SpecKey, target: Target, home: Memory) -> tuple[Move, ...]:
    """The moves of a key: of a context of goals they depend on its home alone."""
    return tuple(_moves(key, target, home))


def _moves(key: SpecKey, target: Target, home: Memory) -> Iterator[Move]:
    levels = [m for m in reversed(target.memories) if may_fill(key, m)]
    for index, (operand, source) in enumerate(
        zip(key.kind.operands, key.tensors, strict=True)
    ):
        if source.level.is_registers or leader(key.kind, index) != index:
            continue
        forms = (Form(source.dtype, source.layout), *asked_forms(key, index, target))
        for level in levels:
            for form in forms:
                if makes_progress(source, level, form) and (
                    form == forms[0] or _may_repack(key, level, home)
                ):
                    cast = _cast(source, form.dtype)
                    yield Move(operand.name, level, form.layout, cast)
        if may_enter_registers(key):
            row_major = Layout.row_major(source.rank)
            for memory, dtype in register_forms(key, index, target):
                yield Move(operand.name, memory, row_major, _cast(source, dtype))


@lru_cache(maxsize=65536)
def _relevant(key: SpecKey, index: int) -> SpecKey:
    """A key that says of a moved operand what counts, and of the others the dtypes."""
    moved = {index, *followers(key.kind, index)}
    tensors = tuple(
        t if i in moved else canonical(t) for i, t in enumerate(key.tensors)
    )
    return dataclasses.replace(key, tensors=tensors)


def may_fill(key: SpecKey, level: Memory) -> bool:
    """Whether the search still moves operands to a memory that registers are filled
    from: not to one that is farther than where an operand is already."""
    if level.is_registers or (has_several_products(key.kind) and level.is_near):
        return False
    return not any(level.is_beyond(tensor.level.backing) for tensor in key.tensors)


def _may_repack(key: SpecKey, level: Memory, home: Memory) -> bool:
    """Whether operands are brought to other forms at a level: those of a graph with
    several products in memory, for all of its loops; those of one without a product in
    L1, where its kernel is."""
    if key.kind.has_element:
        return True
    if not contractions(key.kind):
        return level.is_near
    if not has_several_products(key.kind):
        return True
    return level.is_main or level is home


def _index(key: SpecKey, name: str) -> int:
    """The index of the operand of this name."""
    return _index_of(key.kind, name)


@lru_cache(maxsize=65536)
def _index_of(kind: Kind, name: str) -> int:
    return next(i for i, o in enumerate(kind.operands) if o.name == name)


def may_enter_registers(key: SpecKey) -> bool:
    """Whether the search moves operands to registers: not while several others are yet
    to come to L1, and one of them from memory. One alone may stream past L2."""
    beyond = [t.level for t in key.tensors if not t.level.is_near]
    return len(beyond) <= 1 or not any(level.is_main for level in beyond)


def _cast(source: TensorSpec, dtype: Dtype) -> str:
    return "" if dtype is source.dtype else dtype.value


def copies(source: TensorSpec, dest: TensorSpec) -> bool:
    """Whether a move makes a buffer and copies, or only models what a cache holds."""
    return (
        dest.level.is_registers
        or dest.layout != source.layout
        or dest.dtype is not source.dtype
    )


def held(source: TensorSpec, dest: TensorSpec) -> TensorSpec:
    """The form in which lines are counted: one that is not copied has its gaps yet."""
    if dest.contiguous == source.contiguous or copies(source, dest):
        return dest
    return dataclasses.replace(dest, contiguous=source.contiguous)


def _is_resident(source: TensorSpec, dest: TensorSpec, target: Target) -> bool:
    """Whether an operand is where it moves to already, and takes nothing of what is
    free: where the operands of the goal stay in L2 from call to call."""
    moves = source.level.is_main and not dest.level.is_main
    return moves and dest.level is target.home and not copies(source, dest)


def _full_packs(
    name: str, source: TensorSpec, dest: TensorSpec, sizes: tuple[Ints, ...]
) -> tuple[Condition, ...]:
    """Conditions that a new buffer is at least as wide as its packs; an existing buffer
    may be narrower."""
    if not copies(source, dest):
        return ()
    return tuple(
        Condition(
            size >= pack,
            f"'{name}' is narrower than the pack of {pack} in {dest.layout}",
        )
        for dim, size in enumerate(sizes)
        if (pack := dest.layout.pack(dim)) > 1
    )


def _fits(
    frame: Frame,
    name: str,
    dest: TensorSpec,
    sizes: tuple[Ints, ...],
    amount: Ints,
    target: Target,
) -> tuple[Condition, ...]:
    """Condition that the destination has room for the operand."""
    if dest.level.is_main:
        return ()
    free = frame.limits[dest.level]
    return (
        Condition(
            amount <= free,
            lambda: (
                f"'{name}' takes {amount} {dest.level.units} of {dest.level}, "
                f"{free} are free"
            ),
        ),
    )


def _copy_keys(
    key: SpecKey, index: int, dest: TensorSpec, body: SpecKey
) -> tuple[SpecKey, ...]:
    """The keys of the copies in, if the operand is read, and out, and of the body."""
    operand, source = key.kind.operands[index], key.tensors[index]
    kind = MoveKind(operand.rank)
    load = SpecKey(kind, (source, dest), body.serial)
    store = SpecKey(kind, (dest, source), body.serial)
    before = (load,) if operand.is_read else ()
    return (*before, body, *((store,) if operand.is_written else ()))


def _with_copies(
    frame: Frame, index: int, dest: TensorSpec, inner: Child
) -> tuple[Child, ...]:
    operand = frame.key.kind.operands[index]
    sizes, limits = frame.operand_sizes(index), inner.frame.limits
    keys = _copy_keys(frame.key, index, dest, inner.frame.key)
    children = [inner]
    if operand.is_read:
        load = Frame(keys[0], sizes, limits)
        children.insert(0, Child("prologue", load, 1, operand.dims))
    if operand.is_written:
        store = Frame(keys[-1], sizes, limits)
        children.append(Child("epilogue", store, 1, operand.dims))
    return tuple(children)

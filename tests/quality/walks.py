"""Complete programs by random walks over legal actions.

At each hole an action is drawn: each class of actions is as likely as the others, and
within one each candidate. Sizes of tiles are arbitrary, not only those that the search
tries. When the budget of a program is spent, the walk takes the way that ends soonest.
"""

import random
from collections.abc import Callable, Iterator

from morello.actions import (
    ACTIONS,
    Action,
    Border,
    Move,
    Pad,
    Peel,
    Select,
    Split,
    Taps,
    Tile,
    ToAccum,
)
from morello.errors import ScheduleError
from morello.machine import AVX2, Target
from morello.search.impl import Branch, Impl
from morello.spec import L1, L2, MEM, Layout, Spec
from morello.spec.frame import Frame
from morello.spec.tensors.layout import PhysicalDim
from tests.quality.specs import LAYOUTS
from tests.search.goals import PEELS

BUDGET = 24
"""Actions of a program before it is brought to its end, at most."""

MAX_TRIES = 150
"""Actions tried, those that led nowhere included."""

MAX_NODES = 48
"""Nodes of a program's tree: each becomes code."""

MAX_LEAVES = 300_000
"""Runs of kernels in one run of a program; 1 ms a 100,000, about."""

PATIENCE = 100
"""Walks after which a program may run as many kernels more: a large Spec with strict
operands has few programs, and most run one kernel for each element."""


WALKS = 2000
"""Walks before a Spec counts as one without a program."""


class DeadEndError(Exception):
    """A walk that found no program."""


def random_program(
    spec: Spec,
    rng: random.Random,
    known: dict[Spec, Impl] | None = None,
    max_leaves: int = MAX_LEAVES,
    walks: int = WALKS,
) -> Impl:
    """A program of ``spec``, different for each state of ``rng``.

    ``known`` holds the programs of Specs that were met before and is added to: a module
    has one program for each Spec, which is included wherever the Spec is.

    Raises:
        DeadEndError: none of so many walks ended at a program.
    """
    for number in range(walks):
        # As a schedule has it: what is below a goal is counted in the goal's context.
        target = AVX2.at(spec) if known is None else AVX2
        walk = _Walk(rng, {} if known is None else known, target)
        try:
            impl = walk.program(spec)
        except DeadEndError:
            continue
        if impl is None or nodes(impl) > MAX_NODES:
            continue
        if leaf_runs(impl) <= max_leaves * (1 + number // PATIENCE):
            walk.keep()
            return impl
    raise DeadEndError(f"no program of {spec} after {walks} walks")


def nodes(impl: Impl) -> int:
    """How many actions a program is made of."""
    return 1 + sum(nodes(branch.impl) for branch in impl.branches)


def leaf_runs(impl: Impl) -> int:
    """How many kernels one run of the program runs."""
    if not impl.branches:
        return 1
    return sum(b.times * leaf_runs(b.impl) for b in impl.branches)


class _Walk:
    """One attempt."""

    def __init__(
        self, rng: random.Random, known: dict[Spec, Impl], target: Target
    ) -> None:
        self.rng = rng
        self.target = target
        self.known = known
        self.programs: dict[Spec, Impl] = {}
        self.hopeless: set[Spec] = set()
        self.tries = 0
        self.budget = rng.choice((BUDGET // 8, BUDGET // 2, BUDGET))
        self.ending = rng.choice((single_steps, small_tiles, small_tiles))
        self.size = 0

    def keep(self) -> None:
        """Add what was found to what is known."""
        self.known.update(self.programs)

    def program(self, spec: Spec) -> Impl | None:
        """A program; None where no action drawn leads to one.

        Raises:
            DeadEndError: too much was tried.
        """
        before = self.known.get(spec) or self.programs.get(spec)
        if before is not None:
            return before
        if spec in self.hopeless:
            return None
        actions = random_actions if self.size < self.budget else self.ending
        for action in actions(spec, self.rng):
            impl = self._try(spec, action)
            if impl is not None:
                self.programs[spec] = impl
                if len(self.programs) > MAX_NODES:
                    raise DeadEndError(f"more than {MAX_NODES} nodes")
                return impl
        self.hopeless.add(spec)
        return None

    def _try(self, spec: Spec, action: Action) -> Impl | None:
        try:
            # As `apply`, but without a message that says why not.
            expansion = action.expand(Frame.of(spec), self.target)
            if expansion.refusal():
                return None
            rewrite = expansion.rewrite()
        except ScheduleError:
            return None
        self.tries += 1
        if self.tries > MAX_TRIES:
            raise DeadEndError(f"{MAX_TRIES} actions tried")
        self.size += 1
        branches = []
        for hole in rewrite.holes:
            impl = self.program(hole.spec)
            if impl is None:
                return None
            branches.append(Branch(hole.role, hole.times, impl))
        cost = rewrite.total(tuple(b.impl.cost for b in branches))
        return Impl(spec, action, cost, tuple(branches))


def random_actions(spec: Spec, rng: random.Random) -> Iterator[Action]:
    """Candidates in random order, classes as likely as each other."""
    axes = tuple(_some_sizes(size, rng) for size in spec.sizes)
    pools: dict[str, list[Action]] = {}
    left = {kind.name: kind for kind in ACTIONS}
    while left:
        name = rng.choice(list(left))
        if name not in pools:  # most walks ask a class or two
            pools[name] = _candidates(left[name], spec, axes, rng)
            rng.shuffle(pools[name])
        if pools[name]:
            yield pools[name].pop()
        else:
            del left[name]


def _candidates(
    kind: type[Action],
    spec: Spec,
    axes: tuple[tuple[int, ...], ...],
    rng: random.Random,
) -> list[Action]:
    """The candidates of the search, at arbitrary sizes and in more layouts."""
    actions = list(kind.candidates(spec.key, axes, PEELS))
    if kind is Move:
        for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True):
            layout = _some_layout(tensor.rank, rng)
            level = rng.choice((MEM, L2, L1))
            actions.append(Move(operand.name, level, layout))
    return actions


def _some_layout(rank: int, rng: random.Random) -> Layout:
    """One of `LAYOUTS`; of larger ranks an order of the dimensions."""
    if rank in LAYOUTS:
        return Layout.parse(rng.choice(LAYOUTS[rank]))
    return Layout(tuple(map(PhysicalDim, rng.sample(range(rank), rank))))


def _some_sizes(size: int, rng: random.Random) -> tuple[int, ...]:
    few = {1, 4, 6, 8, 16, 24, *(rng.randint(1, size) for _ in range(4))}
    return (*sorted(s for s in few if s < size), size)


def single_steps(spec: Spec, rng: random.Random) -> Iterator[Action]:
    """The end by kernels of single elements, or pairs where they are taken together: no
    remainder makes the program longer."""
    yield from _without_padding(spec)
    yield from _kernels(spec, rng)
    yield ToAccum()
    for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True):
        if tensor.level > L1:
            yield Move(operand.name, L1, tensor.layout)
    yield from _loops(spec, lambda size: [1, 2])


def small_tiles(spec: Spec, rng: random.Random) -> Iterator[Action]:
    """The end by vector kernels: tiles of a few vectors, sums in registers."""
    yield from _without_padding(spec)
    yield from _kernels(spec, rng)
    yield ToAccum()
    moves = [m for m in Move.candidates(spec.key, (), AVX2) if m.level <= L1]
    rng.shuffle(moves)
    yield from sorted(moves, key=lambda move: move.level)
    yield from _loops(spec, lambda size: [rng.randint(2, 17), rng.choice((4, 6, 8))])
    yield from _loops(spec, lambda size: [1, 2])


def _without_padding(spec: Spec) -> Iterator[Action]:
    """What ends padding, which no kernel takes."""
    graph = spec.kind.as_graph
    if graph is not None and graph.padded_dims:
        yield from Taps.candidates(spec.key, (), AVX2)
        yield from Border.candidates(spec.key, (), AVX2)
        yield from Pad.candidates(spec.key, (), AVX2)


def _kernels(spec: Spec, rng: random.Random) -> list[Action]:
    kernels: list[Action] = list(Select.candidates(spec.key, (), AVX2))
    rng.shuffle(kernels)
    return kernels


def _loops(spec: Spec, sizes: Callable[[int], list[int]]) -> Iterator[Action]:
    """Loops over the longest dimension first, each of the one class that may be."""
    kind = spec.kind
    for dim in sorted(range(len(kind.dims)), key=lambda dim: -spec.sizes[dim]):
        loop: type[Tile] | type[Split] | type[Peel] = Tile
        if dim in kind.reductions:
            loop = Split if kind.loops(dim) else Peel
        for size in sizes(spec.sizes[dim]):
            if size < spec.sizes[dim]:
                yield loop(kind.dims[dim], size)

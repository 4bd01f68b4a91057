"""The tables of all goals with one set of limits: what is asked for is solved.

Read `Run.best`: it follows a goal down (`reachable.py`), and solves each table where it
is needed, those below first. Tables depend on each other as their keys do: levels only
go down, layouts go from unpacked to packed, kinds get simpler. How one table is solved
is in `table_solver.py`.
"""

import time
from collections.abc import Callable

from morello.actions import Action, candidates
from morello.errors import SearchError
from morello.machine import Target
from morello.processes.interrupts import check_sigint
from morello.search.dp.axes import ONE_GOAL, Goals
from morello.search.dp.box import Box, Spans, all_of, is_within, spans_in
from morello.search.dp.identities import Identities
from morello.search.dp.likeness import Likeness
from morello.search.dp.reachable import Reachability, pays
from morello.search.dp.table import Costs, Table, TableId, position
from morello.search.dp.table_solver import TableSolver
from morello.search.impl import Branch, Impl
from morello.search.queries.pins import Fixed, Pinned, PinnedPrograms
from morello.search.statistics import Statistics, most_first, peak_bytes
from morello.search.storage.deflated import CodecError
from morello.search.storage.packed_table import Packed
from morello.search.storage.table_store import TableStore
from morello.spec import Limits, Spec
from morello.spec.frame import Frame

Watch = Callable[[Statistics], None]
"""Told of a search before each table that is solved, and at times within; what it
raises ends the search, and every table that was solved by then is kept."""

_SILENCE = 0.05
"""Seconds in a table after which what watches the search is told again."""


class Run(Identities):
    """The tables of all goals with one set of limits."""

    def __init__(
        self,
        limits: Limits,
        room: Limits,
        target: Target,
        store: TableStore,
        pinned: PinnedPrograms,
        watch: Watch | None = None,
        goals: Goals = ONE_GOAL,
    ) -> None:
        super().__init__(limits, room, target, store, goals)
        self.pinned = pinned
        self.watch = watch
        self.start = self._told = time.perf_counter()
        self.points = 0
        self.beyond = 0
        """Points of tables that were solved which no program of a goal needs."""
        self.impls = 0
        """Implementations that were compared."""
        self.reaches = not (goals.axes or pinned.pins.pins)
        """Whether a goal is followed down first, to solve the points that it needs."""
        self.needed: dict[TableId, Box] = {}
        """The points that goals need of each table that they lead to; empty before the
        first goal, and where all points are solved."""
        self.wholes: dict[TableId, TableId] = {}
        """Tables that others are cut from, by these: all that they have are points
        which are needed of it, and nobody asked what they need themselves."""
        self._complete: set[TableId] = set()
        """Tables below which all was followed, as nothing was read."""
        self._candidates: dict[TableId, tuple[Action, ...]] = {}
        self._misses: set[tuple[TableId, Box]] = set()
        """Tables that were looked for in vain."""
        self._damaged: set[TableId] = set()
        """Tables of which what is stored cannot be."""
        self._pending: set[TableId] = set()
        self._stored: set[TableId] = set()
        """Tables from the database, of which not all that they say has been checked."""
        self._impls: dict[tuple[TableId, Spec], Impl] = {}

    def table(self, identity: TableId) -> Table:
        """The solved table, solving it and what it needs first if it is new."""
        self._ensure(identity)
        try:
            return self.store.table(identity)
        except CodecError:
            self._solve_again(identity)
            return self.table(identity)

    def costs(self, identity: TableId) -> Costs:
        """The costs of a table, without its decisions; solves the table if needed."""
        self._ensure(identity)
        try:
            return self.store.costs(identity)
        except CodecError:
            self._solve_again(identity)
            return self.costs(identity)

    def entry(self, identity: TableId) -> Packed:
        """The compressed boxes of a table; solves the table if needed."""
        self._ensure(identity)
        return self.store.entry(identity)

    def box(self, identity: TableId) -> Box:
        """The box of the points of a table that are solved."""
        if not self.needed:
            return self.whole_box(identity)
        box = self.needed.get(identity)
        if box is None:
            self._reach(identity, all_of(self.whole_box(identity)))
            box = self.needed[identity]
        return box

    def reach(self, identity: TableId, spec: Spec, *, through: bool = False) -> None:
        """Have a Spec of a table solved with all that it needs, when it is asked for.

        Args:
            through: whether other tables are asked for besides those of its program:
                all that it leads to.
        """
        is_known = self.is_reached(identity, spec)
        if not is_known or (through and identity not in self._complete):
            spans = self._spans(identity, spec)
            self._reach(identity, spans, through=through)

    def is_reached(self, identity: TableId, spec: Spec) -> bool:
        """Whether a Spec of a table is among those that are solved when it is."""
        box = self.needed.get(identity)
        if box is None:
            return False
        spans = spans_in(self.whole_box(identity), box) or ()
        return is_within(self._spans(identity, spec), spans)

    def _spans(self, identity: TableId, spec: Spec) -> Spans:
        """The place of a Spec in a table."""
        point = position(self.whole_box(identity), spec.sizes, spec.limits)
        return () if point is None else tuple((place, place + 1) for place in point)

    def _reach(self, identity: TableId, spans: Spans, *, through: bool = False) -> None:
        if not self.reaches or not (self.needed or pays(identity.sizes)):
            return
        read = _nothing if through else self._read
        work = Reachability(self, self.needed, read, is_through=through)
        boxes = work.boxes(identity, spans)
        if through or not (self.needed or work.has_read):
            self._complete.add(identity)
        self.needed |= boxes
        for visited in boxes:
            self.wholes.pop(visited, None)
        self.wholes |= work.wholes

    def has_part(self, other: TableId, identity: TableId) -> bool:
        """Whether a table of the same key has another one as its part."""
        likeness = Likeness(self.room, self.dense)
        return likeness.has_part(other, identity, self.whole_box, self.candidates)

    def _read(self, identity: TableId, box: Box) -> Box | None:
        """The box of a solved or stored table if it contains another box."""
        here = self.store.box(identity)
        if here is not None and spans_in(here, box) is not None:
            return here
        return box if self._fetch(identity, box) else None

    def is_here(self, identity: TableId) -> bool:
        """Whether the points of a table that are needed are solved."""
        return self.store.box(identity) is self.box(identity)

    def _ensure(self, identity: TableId) -> None:
        box = self.box(identity)
        if self.store.box(identity) is not box and not (
            box.size and (self._cut(identity, box) or self._fetch(identity, box))
        ):
            self._solve(identity)

    def _cut(self, identity: TableId, box: Box) -> bool:
        """Cut a table out of a larger one, which is solved first; return whether that
        worked."""
        whole = self.wholes.get(identity)
        if whole is None:
            return False
        self.costs(whole)
        if self.is_here(whole) and self.store.cut(whole, identity, box):
            return True
        self._reach(identity, spans_in(self.whole_box(identity), box) or ())
        return False

    def _fetch(self, identity: TableId, box: Box) -> bool:
        """Look for a part of a table that was solved for earlier goals; whether it is
        here now."""
        store, tables = self.store, (self.whole_box, self.candidates)
        if store.fetch_shared(identity, box, *tables):
            return True
        place = identity, box
        if place in self._misses or identity in self._damaged:
            return False
        if store.fetch(identity, box, *tables) or store.fetch_part(
            identity, box, *tables
        ):
            self._stored.add(identity)
            return True
        self._misses.add(place)
        return False

    def decisions(self, identity: TableId) -> Table | Packed:
        """The decisions of a table; solves the table if needed."""
        return self.entry(identity)

    def _solved_anew(self, identity: TableId) -> Table | Packed:
        """A table in the place of a stored one that says what cannot be."""
        self._solve_again(identity)
        return self.decisions(identity)

    def _solve_again(self, identity: TableId) -> None:
        """Solve a table whose row in the database is damaged."""
        self._stored.discard(identity)
        self._damaged.add(identity)
        self.store.drop(identity)
        if self.needed:  # nobody asked what it needs
            whole = self.whole_box(identity)
            self._reach(identity, spans_in(whole, self.box(identity)) or ())
        self._solve(identity)

    def _solve(self, identity: TableId) -> None:
        if identity in self._pending:
            raise RuntimeError(f"the keys are not a DAG at {identity.key}")
        self._tell()
        self._pending.add(identity)
        try:
            work = TableSolver(self, identity)
            costs = work.solve()
            del work.run  # its table is kept by what it refers to: no circle
        finally:  # a search that is interrupted may be taken up again
            self._pending.discard(identity)
        self.store.put(identity, costs, work.table)
        self.points += self.box(identity).size
        self.beyond += self.whole_box(identity).size - self.box(identity).size
        self.impls += work.impls

    def pause(self) -> None:
        """Let Ctrl-C, or what watches the search, end it in the middle of a table."""
        if time.perf_counter() - self._told >= _SILENCE:
            self._tell()

    def _tell(self) -> None:
        check_sigint()
        self._told = time.perf_counter()
        if self.watch is not None:
            self.watch(self.statistics(self._told - self.start))

    def statistics(self, seconds: float) -> Statistics:
        """Statistics of the search so far, which took so many seconds."""
        store = self.store
        return Statistics(
            len(store),
            self.points,
            seconds,
            self.impls,
            *store.tally,
            peak_bytes(),
            store.goals.total(),
            store.stored,
            store.parts,
            most_first((+store.goals).items()),
            self.beyond,
        )

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table, and its pins."""
        known = self._candidates.get(identity)
        if known is None:
            known = self._candidates[identity] = self._all_candidates(identity)
        return known

    def _all_candidates(self, identity: TableId) -> tuple[Action, ...]:
        actions = candidates(identity.key, identity.sizes, self.target)
        if self.dense:
            actions = tuple(self.tiles(actions, identity))
        pins = self.pinned.pins.of(identity.key)
        return (*actions, *(pin.action for pin in pins))

    def fixed(self, identity: TableId) -> tuple[Fixed, ...]:
        """The points of a table that pins decide."""
        return self.pinned.fixed(identity.key, self.box(identity), self.limits)

    def best(self, spec: Spec, identity: TableId) -> Impl:
        """The best program of a Spec of a table, which is solved if it is new.

        Raises:
            SearchError: there is none.
        """
        self.reach(identity, spec)
        return self.program(spec, self.decisions(identity))

    def program(self, spec: Spec, table: Table | Packed) -> Impl:
        """The best program of a Spec of a solved table.

        Raises:
            SearchError: there is none.
        """
        known = self._impls.get((table.id, spec))
        if known is not None:
            return known
        action = table.decision(spec.sizes, spec.limits)
        if action is None:
            if table.id in self._stored:
                return self.program(spec, self._solved_anew(table.id))
            raise SearchError(
                f"no program exists for {spec}", _remedy(spec, self.target)
            )
        if isinstance(action, Pinned):
            return self.pinned.program(action, spec)
        branches = []
        expansion = action.expand(Frame.of(spec), self.target)
        if table.id in self._stored and expansion.refusal():
            return self.program(spec, self._solved_anew(table.id))
        cost = int(expansion.cost)
        for child in expansion.children:
            if int(child.exists):
                times = int(child.times)
                below = self.hole_id(table.id, action, child)
                impl = self.best(child.frame.spec(), below)
                branches.append(Branch(child.role, times, impl))
                cost += times * impl.cost
        impl = Impl(spec, action, cost, tuple(branches))
        self._impls[table.id, spec] = impl
        return impl


def _nothing(identity: TableId, box: Box) -> None:
    """Read no table."""


def _remedy(spec: Spec, target: Target) -> str:
    dtypes = ",".join(map(str, spec.dtypes))
    return (
        f"target {target.name} has no kernels that make up {spec.kind.label} on "
        f"{dtypes} with these layouts and limits"
    )

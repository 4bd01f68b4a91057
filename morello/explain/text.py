"""An explanation as text: the tree in columns, then tables of alternatives."""

from collections.abc import Iterator

from morello.explain.balance import balance
from morello.explain.fold import Folded, fold
from morello.explain.fusion import Unfused, fusion_text
from morello.explain.memory import Use, counted_memories
from morello.explain.model import Explanation, Node
from morello.explain.words import (
    TIMES,
    Clock,
    continuation,
    counted,
    cycle_count,
    excess,
    percent,
    searched_text,
    stale_text,
    title,
)
from morello.search import Alternatives, Impl
from morello.spec import print_spec

_HEAD = ("node", "share", "own", "cycles/run", "runs", "operands")
"""The heads of the columns; those of memories and of the program follow."""

_LEGEND = """\
share: of the whole cost, all runs together; own: the same without what is below
cycles/run: of one run, with what is below; operands: the memory each one lies in
{memories}: registers and cache lines left; (-n): taken here by the operand moved
'lhs to L2': it is counted on there and no code is made; a move that copies is a node\
"""


def as_text(
    explanation: Explanation,
    clock: Clock,
    top: int,
    unfold: bool = False,
    apart: Unfused | None = None,
) -> str:
    """The explanation for a terminal.

    Args:
        explanation: what to print.
        clock: for times.
        top: the most alternatives that are shown at a node.
        unfold: show moves that make no code as nodes of their own.
        apart: what the nodes of a graph cost one by one.
    """
    tree = _tree(explanation.root, unfold)
    names = ", ".join(use.level.name for use in explanation.root.memory)
    legend = _LEGEND.format(memories=names)
    parts = [_header(explanation, clock), tree, legend]
    fused = fusion_text(explanation, clock, apart)
    if fused:
        parts.append(fused)
    for node, alternatives in first_alternatives(explanation.root):
        parts.append(_alternatives(node, alternatives, clock, top))
    return "\n\n".join(parts) + "\n"


def first_alternatives(root: Node) -> Iterator[tuple[Node, Alternatives]]:
    """Nodes with alternatives; of equal nodes the first one."""
    seen: set[int] = set()
    for node in root.walk():
        if node.alternatives is not None and id(node.alternatives) not in seen:
            seen.add(id(node.alternatives))
            yield node, node.alternatives


def _header(explanation: Explanation, clock: Clock) -> str:
    spec, target = explanation.spec, explanation.target
    counts = counted_memories(spec.limits)
    limits = ", ".join(f"{free} {unit}" for free, unit in counts)
    nodes = list(explanation.root.walk())
    stale, threads = stale_text(explanation.stale), balance(explanation)
    lines = [
        f"{print_spec(spec, target.limits)} on {target.name}",
        f"predicted: {clock.cost(explanation.cost)}",
        f"memory: {limits}",
        f"program: {counted(len(nodes), 'node')}, "
        f"{searched_text(explanation.statistics)}",
        *([f"threads: {threads}"] if threads is not None else []),
        *([f"prices: {stale}"] if stale else []),
    ]
    return "\n".join(lines)


def _tree(root: Node, unfold: bool) -> str:
    head = (*_HEAD, *(use.level.name for use in root.memory), "program")
    rows = [head, *_rows(fold(root, unfold), "", "", unfold)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i == 5 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join((*cells, row[-1])).rstrip())
    return "\n".join(lines)


def _rows(
    folded: Folded, lead: str, indent: str, unfold: bool
) -> Iterator[tuple[str, ...]]:
    """A node and those below it; ``lead`` stands before it, ``indent`` before them."""
    children = folded.node.children
    is_again = folded.same_as is not None and bool(children)
    yield _row(folded, lead, is_again)
    if is_again:
        return
    for child in children:
        is_last = child is children[-1]
        yield from _rows(
            fold(child, unfold),
            indent + ("└─ " if is_last else "├─ "),
            indent + ("   " if is_last else "│  "),
            unfold,
        )


def _row(folded: Folded, lead: str, is_again: bool) -> tuple[str, ...]:
    first, node = folded.first, folded.node
    role = f"{first.role} {first.times:,}{TIMES} " if first.role else ""
    again = f" … as node {folded.same_as}" if is_again else ""
    return (
        folded.numbers,
        percent(first.share),
        percent(folded.own_share),
        cycle_count(first.impl.cost),
        f"{node.runs:,}",
        " ".join(str(t.level) for t in node.tiles),
        *(_use(use) for use in node.memory),
        f"{lead}{role}{title(node.impl.spec)}: {folded.words}{again}",
    )


def _use(use: Use) -> str:
    return f"(-{use.taken.amount}) {use.left}" if use.taken else str(use.left)


def _alternatives(
    node: Node, alternatives: Alternatives, clock: Clock, top: int
) -> str:
    chosen = alternatives.chosen
    rows = [("chosen", cycle_count(chosen.cost), _words(chosen))]
    rows += [
        (excess(a.excess, chosen.cost), cycle_count(a.impl.cost), _words(a.impl))
        for a in alternatives.rejected[:top]
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = [
        f"  {more:>{widths[0]}}  {cost:>{widths[1]}} cycles  {words}"
        for more, cost, words in rows
    ]
    head = (
        f"alternatives at node {node.number}, {title(node.impl.spec)}, "
        f"by first action, each followed by its best program:"
    )
    return "\n".join([head, *lines, f"  {count_text(alternatives, top)}"])


def count_text(alternatives: Alternatives, top: int) -> str:
    """The number of actions, and how many are shown, as text."""
    hidden = len(alternatives.rejected[top:])
    verb = "applies" if alternatives.applicable == 1 else "apply"
    parts = [f"{counted(alternatives.applicable, 'action')} {verb}"]
    if alternatives.ties:
        verb = "costs" if alternatives.ties == 1 else "cost"
        parts.append(
            f"{alternatives.ties} other {verb} exactly what the chosen one does"
        )
    if alternatives.dead_ends:
        verb = "leads" if alternatives.dead_ends == 1 else "lead"
        parts.append(f"{alternatives.dead_ends} {verb} to no program")
    if hidden:
        parts.append(f"{hidden} costlier not shown")
    return "; ".join(parts)


def _words(impl: Impl) -> str:
    return " > ".join((str(impl.action), *continuation(impl)))

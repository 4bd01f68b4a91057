"""An explanation as one HTML file: no scripts, nothing loaded from elsewhere.

Read `as_page`. The tree is made of nested ``<details>``; each node has a panel with its
memories, the tiles of its operands and the alternatives that it rejected.
"""

from collections import Counter
from collections.abc import Iterator
from html import escape

from morello.actions import Action, Move, Select
from morello.actions.copies.move import copies
from morello.explain.balance import balance
from morello.explain.fold import Folded, fold
from morello.explain.fusion import Unfused, fusion_text
from morello.explain.memory import counted_memories
from morello.explain.model import Explanation, Node
from morello.explain.picture import KEY, Hues, memory, tiles
from morello.explain.style import SHEET
from morello.explain.text import count_text
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
from morello.machine import Target
from morello.search import Alternatives, Impl
from morello.spec import print_spec

_OPEN_SHARE = 0.02
"""Parts of the tree with less of the cost than this are closed at first."""


def as_page(
    explanation: Explanation,
    clock: Clock,
    top: int,
    unfold: bool = False,
    apart: Unfused | None = None,
) -> str:
    """The explanation as the text of an HTML file.

    Args:
        explanation: what to show.
        clock: for times.
        top: the most alternatives that are shown at a node.
        unfold: show moves that make no code as nodes of their own.
        apart: what the nodes of a graph cost one by one.
    """
    page = _Page(explanation, clock, top, unfold)
    page.fused = fusion_text(explanation, clock, apart)
    name = escape(print_spec(explanation.spec, explanation.target.limits))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name} | morello explain</title>\n<style>\n{SHEET}</style>\n"
        f"</head>\n<body>\n{''.join(page.sections(name))}</body>\n</html>\n"
    )


class _Page:
    """State that every part of the page needs."""

    def __init__(
        self, explanation: Explanation, clock: Clock, top: int, unfold: bool
    ) -> None:
        self.explanation = explanation
        self.clock = clock
        self.top = top
        self.unfold = unfold
        self.hottest = explanation.hottest()
        self.fused = ""
        """Report on fusion; empty for a Spec that is not fused."""
        self.hues = Hues(tuple(o.name for o in explanation.spec.kind.operands))

    def sections(self, name: str) -> Iterator[str]:
        """The body, piece by piece."""
        root = self.explanation.root
        yield self._header(name)
        yield "<h2>Where the cycles go</h2>\n" + self._work()
        yield self._tiles()
        if self.fused:
            yield (
                "<h2>What is fused</h2>\n<div class='panel scroll'>"
                f"<pre>{escape(self.fused)}</pre></div>\n"
            )
        if root.alternatives is not None:
            yield (
                "<h2>How else it could begin</h2>\n<p class=soft>For each first "
                "action, the cheapest program that begins with it, by what it costs "
                "more.</p>\n<div class='panel scroll'>"
                f"{self._ways(root.alternatives)}</div>\n"
            )
        yield (
            "<h2>The program</h2>\n<p class=soft>Each line is one decision: the hole "
            "it fills and how often it runs for each run of the line above, what is "
            "computed there, and the action. The bar is its share of the whole cost, "
            "the dark part its own work. A click on a line shows memories, tiles and "
            "alternatives there; the arrow folds what is below.</p>\n"
            "<div class='panel scroll'><div class=tree>"
            f"{_HEAD}{self._node(root)}</div></div>\n"
        )

    def _header(self, name: str) -> str:
        explanation, hot = self.explanation, self.hottest
        count = sum(1 for _ in explanation.root.walk())
        counts = counted_memories(explanation.spec.limits)
        registers, *lines = (f"{free:,} {unit}" for free, unit in counts)
        cards = [
            (
                self.clock.cycles(explanation.cost),
                f"predicted: {self.clock.micros(explanation.cost)} at "
                f"{self.clock.gigahertz:g} GHz",
            ),
            (
                percent(hot.own_share),
                f"of it in {escape(str(hot.impl.action))}, node {hot.number}",
            ),
            (counted(count, "node"), searched_text(explanation.statistics)),
            (registers, ", ".join(lines)),
        ]
        shared = balance(explanation)
        if shared is not None:
            cards.append((counted(shared.threads, "thread"), shared.text))
        if explanation.stale:
            stale = stale_text(explanation.stale)
            cards.append((counted(len(explanation.stale), "price"), escape(stale)))
        if explanation.root.alternatives is not None:
            cards.insert(2, _next_best(explanation.root.alternatives))
        text = "".join(
            f"<div class=card><b class=num>{head}</b><span>{rest}</span></div>"
            for head, rest in cards
        )
        return (
            f"<h1>{escape(title(explanation.spec))}</h1>\n"
            f"<p class=soft><code>{name}</code> on {escape(explanation.target.name)}"
            f"</p>\n<div class=cards>{text}</div>\n"
        )

    def _work(self) -> str:
        work: Counter[str] = Counter()
        target = self.explanation.target
        for node in self.explanation.root.walk():
            work[_group(node.impl, target)] += node.own_cost * node.runs
        whole = max(self.explanation.cost, 1)
        rows = "".join(
            f"<tr><td>{escape(group)}</td><td class=num>{percent(cost / whole)}</td>"
            f"<td class=num>{self.clock.cycles(cost)}</td><td class=wide>"
            f'<div class=gauge style="width:{100 * cost / whole:.2f}%"></div></td></tr>'
            for group, cost in work.most_common()
            if cost
        )
        return f'<div class="panel scroll"><table class=work>{rows}</table></div>\n'

    def _tiles(self) -> str:
        hot = self.hottest
        return (
            f"<h2>Tiles in memory at the hottest kernel</h2>\n<p class=soft>Node "
            f"{hot.number}, {escape(title(hot.impl.spec))}, runs {_often(hot.runs)}. "
            "Each frame is the tile that was brought to a memory, within the one that "
            "it was cut from; sides are on a logarithmic scale.</p>\n"
            f"<div class=panel>{tiles(hot, self.hues, 150)}"
            f"<h3>What the model says each memory holds</h3>"
            f"{memory(hot, self.hues)}{KEY}</div>\n"
        )

    def _ways(self, alternatives: Alternatives) -> str:
        chosen = alternatives.chosen
        rows = [_way("chosen", chosen, " class=chosen")]
        rows += [
            _way(excess(a.excess, chosen.cost), a.impl, "")
            for a in alternatives.rejected[: self.top]
        ]
        return (
            "<table class=ways><tr><th class=num>more</th><th class=num>cycles</th>"
            f"<th>first action, then the next ones</th></tr>{''.join(rows)}</table>"
            f"<p class=soft>{escape(count_text(alternatives, self.top))}.</p>"
        )

    def _node(self, top: Node) -> str:
        folded = fold(top, self.unfold)
        node = folded.node
        more = (
            f"<details class=more><summary>{self._row(folded)}</summary>"
            f"{self._info(folded)}</details>"
        )
        kids = ""
        if node.children and node.same_as is None:
            is_open = " open" if node.share >= _OPEN_SHARE else ""
            inner = "".join(self._node(child) for child in node.children)
            kids = (
                f"<details class=kids{is_open}><summary "
                f'aria-label="below node {node.number}"></summary>'
                f"<div>{inner}</div></details>"
            )
        anchors = "".join(f'<a id="n{move.number}"></a>' for move in folded.moves)
        return f'<div class=node id="n{node.number}">{anchors}{more}{kids}</div>'

    def _row(self, folded: Folded) -> str:
        first, node = folded.first, folded.node
        role = ""
        if first.role:
            role = f"<i>{escape(first.role)} {first.times:,}{TIMES}</i> "
        again = ""
        if folded.same_as is not None and node.children:
            again = f' <a href="#n{folded.same_as}">as node {folded.same_as}</a>'
        chips = "".join(
            f'<span class="chip {self.hues.of(t.origin)} '
            f'{t.level.backing}" title="{escape(t.name)}">'
            f"{t.level}</span>"
            for t in node.tiles
        )
        below = 100 * max(first.share - folded.own_share, 0)
        return (
            f"<span class=row><span class=id>{folded.numbers}</span><span class=what>"
            f"{role}{escape(title(node.impl.spec))} "
            f"<code>{escape(folded.words)}</code>{again}</span>"
            f"<span class=lv>{chips}</span><span class=rn>{node.runs:,}</span>"
            f"<span class=cy>{cycle_count(first.impl.cost)}</span>"
            f"<span class=sh>{percent(first.share)}</span><span class=meter>"
            f'<span class=own style="width:{100 * folded.own_share:.2f}%"></span>'
            f'<span style="width:{below:.2f}%"></span></span></span>'
        )

    def _info(self, folded: Folded) -> str:
        node, total = folded.node, folded.first.total
        node_cost = sum(one.own_cost for one in (*folded.moves, node))
        words = (
            f"Its own work: {self.clock.cycles(node_cost)} a run, "
            f"{percent(folded.own_share)} of the whole. All its runs with what is "
            f"below: {self.clock.cost(total)}."
        )
        ways = "".join(
            f"<h3>Alternatives at node {one.number}</h3>{self._ways(one.alternatives)}"
            for one in (*folded.moves, node)
            if one.alternatives is not None
        )
        return (
            f'<div class="panel"><p>{words}</p>{memory(node, self.hues)}'
            f"<h3>Tiles</h3>{tiles(node, self.hues, 110)}"
            f"<div class=scroll>{ways}</div></div>"
        )


_HEAD = (
    "<div class=head><span class=row><span class=what>decision</span>"
    "<span class=lv>operands in</span><span class=rn>runs</span>"
    "<span class=cy>cycles a run</span><span class=sh>share</span>"
    "<span style='width:84px'></span></span></div>"
)


def _often(runs: int) -> str:
    return "once" if runs == 1 else f"{runs:,} times"


def _next_best(alternatives: Alternatives) -> tuple[str, str]:
    if not alternatives.rejected:
        return "no other way", "to begin: only one action leads to a program"
    best = alternatives.rejected[0]
    if best.excess == 0:
        if alternatives.ties == 1:
            return "a tie", "another first action costs exactly the same"
        return f"{alternatives.ties} ties", "other first actions cost exactly the same"
    more = excess(best.excess, alternatives.chosen.cost)
    name = "a first action that a pin rules out" if best.excess < 0 else "the next best"
    return more, f"{name}, {escape(str(best.action))}"


def _way(more: str, impl: Impl, mark: str) -> str:
    actions = (str(impl.action), *continuation(impl))
    words = " ".join(f"<code>{escape(action)}</code>" for action in actions)
    return (
        f"<tr{mark}><td class=num>{more}</td><td class=num>{cycle_count(impl.cost)}"
        f"</td><td>{words}</td></tr>"
    )


def _group(impl: Impl, target: Target) -> str:
    """Name the kind of work that an action does by itself."""
    action: Action = impl.action
    match action:
        case Select():
            return f"kernel {action.kernel}"
        case Move():
            names = [o.name for o in impl.spec.kind.operands]
            source = impl.spec.tensors[names.index(action.operand)]
            if copies(source, action.destination(source, target)):
                return "setting up copies"
            return f"bringing lines from {source.level} to {action.level}"
        case _ if action.loop_dim(impl.spec.key) is not None:
            return "loops"
        case _:
            return action.name

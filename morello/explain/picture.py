"""Pictures of tiles and memories, as pieces of HTML and SVG.

A tile is drawn inside the tile of the memory that it came from. The sides are on a
logarithmic scale, each within the frame around it: 6 of 512 stays visible. Fillings of
memories are to scale.
"""

import dataclasses
import itertools
import math
from html import escape

from morello.explain.memory import Held, Use
from morello.explain.model import Node
from morello.explain.tiles import Stage, Tiles
from morello.explain.words import TIMES, sizes

_INSET = 5.0
"""Pixels between a frame and the next inner one."""

_LEAST = 6.0
"""Pixels of the shortest side."""

_HUES = 4


@dataclasses.dataclass(frozen=True)
class Hues:
    """A colour for each operand of the whole Spec."""

    origins: tuple[str, ...]

    def of(self, origin: str) -> str:
        """The class of an operand's colour; the last one for what is none."""
        if origin not in self.origins:
            return f"o{_HUES - 1}"
        return f"o{self.origins.index(origin) % _HUES}"


def tiles(node: Node, hues: Hues, side: int) -> str:
    """A figure for each operand of a node, ``side`` pixels wide and high at most."""
    figures = "".join(
        _figure(t, node.moved, hues.of(t.origin), side) for t in node.tiles
    )
    return f'<div class="tiles">{figures}</div>'


def _figure(tiles: Tiles, moved: Tiles | None, hue: str, side: int) -> str:
    is_moved = moved is not None and moved.name == tiles.name
    tiles = moved if moved is not None and is_moved else tiles
    dims = TIMES.join(tiles.dims)
    name = escape(tiles.name)
    if tiles.origin != tiles.name:
        name = f"{name} <span class=soft>of</span> {escape(tiles.origin)}"
    steps = "".join(_stage(s, hue, index) for index, s in enumerate(tiles.stages))
    if is_moved:
        steps += "<li class=soft>brought there at this node</li>"
    elif tiles.shape != tiles.stages[-1].shape:
        steps += f'<li><b class="now"></b>used here {_shape(tiles.shape)}</li>'
    return (
        f"<figure>{_svg(tiles, hue, side)}<figcaption><b>{name}</b> "
        f"<span class=soft>{escape(dims)}</span><ol>{steps}</ol></figcaption></figure>"
    )


def _stage(stage: Stage, hue: str, index: int) -> str:
    parts = [f"{stage.level} {_shape(stage.shape)}"]
    if stage.amount:
        unit = "registers" if stage.level.is_registers else "lines"
        parts.append(f"{stage.amount:,} {unit}")
    if stage.is_copy and not stage.level.is_registers:
        parts.append(f"copy {stage.layout}")
    elif index == 0 and not stage.layout.is_row_major:
        parts.append(str(stage.layout))
    words = " <span class=soft>· ".join(map(escape, parts))
    words += "</span>" * (len(parts) - 1)
    return f'<li><b class="{hue} {stage.level}"></b>{words}</li>'


def _shape(shape: tuple[int, ...]) -> str:
    return sizes(shape).replace("x", TIMES)


def _svg(tiles: Tiles, hue: str, side: int) -> str:
    shapes = [_plane(s.shape) for s in tiles.stages]
    names = [f"{hue} {s.level}" for s in tiles.stages]
    if tiles.shape != tiles.stages[-1].shape:
        shapes.append(_plane(tiles.shape))
        names.append("now")
    frames = nested(shapes, side)
    width, height = frames[0][2], frames[0][3]
    rects = "".join(
        f'<rect class="{name}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{w:.1f}" '
        f'height="{h:.1f}" rx="2"/>'
        for (x, y, w, h), name in zip(frames, names, strict=True)
    )
    label = "; ".join(f"{s.level} {sizes(s.shape)}" for s in tiles.stages)
    box = f"{width + 2:.0f} {height + 2:.0f}"
    w, h = box.split()
    return (
        f'<svg viewBox="0 0 {box}" width="{w}" height="{h}" role="img" '
        f'aria-label="{escape(tiles.origin)}: {label}">{rects}</svg>'
    )


def _plane(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns: the last two dimensions."""
    return (1, *shape)[-2], shape[-1]


def nested(
    shapes: list[tuple[int, int]], side: int
) -> list[tuple[float, float, float, float]]:
    """Frames (x, y, width, height), each within the one before.

    Args:
        shapes: rows and columns, each no more than those before.
        side: pixels of the longest side of the first.
    """
    least = 2 * _INSET * (len(shapes) - 1) + 4 * _LEAST
    longest = max(*shapes[0], 1)
    height, width = (max(side * _log(n, longest), least) for n in shapes[0])
    x = y = 0.0
    frames = [(x, y, width, height)]
    for (outer_rows, outer_columns), (rows, columns) in itertools.pairwise(shapes):
        x, y = x + _INSET, y + _INSET
        width = _within(width, columns, outer_columns)
        height = _within(height, rows, outer_rows)
        frames.append((x, y, width, height))
    return frames


def _within(pixels: float, size: int, outer: int) -> float:
    room = max(pixels - 2 * _INSET, 1.0)
    return max(min(_LEAST, room), room * _log(size, outer))


def _log(size: int, whole: int) -> float:
    return math.log2(1 + min(size, whole)) / math.log2(1 + whole)


def memory(node: Node, hues: Hues) -> str:
    """How full each memory is while a node runs."""
    rows = "".join(_store(use, hues) for use in node.memory)
    return f'<div class="memory">{rows}</div>'


def _store(use: Use, hues: Hues) -> str:
    parts = [_part(h, use, hues, "") for h in use.held]
    if use.taken:
        parts.append(_part(use.taken, use, hues, " taken"))
    if use.rounded:
        title = f"{use.rounded:,} {use.unit} lost by rounding down what is left"
        style = _width(use.rounded, use)
        parts.append(f'<div class="rounded" {style} title="{title}"></div>')
    parts.append(f'<div class="left" {_width(use.left, use)}></div>')
    say = f"{use.left:,} of {use.capacity:,} {use.unit} left"
    if use.taken:
        say = f"<b>{use.taken.amount:,} taken here</b>, {say}"
    return (
        f'<div class="name">{use.level}</div><div class="store">{"".join(parts)}</div>'
        f'<div class="say num">{say}</div>'
    )


def _part(held: Held, use: Use, hues: Hues, mark: str) -> str:
    name = held.origin or "temporary"
    shape = _shape(held.shape) if held.shape else ""
    label = f"{name} {shape}".strip()
    share = held.amount / use.capacity if use.capacity else 1.0
    text = label if share >= 0.2 else name if share >= 0.1 else ""
    title = f"{label}: {held.amount:,} {use.unit}"
    return (
        f'<div class="{hues.of(held.origin)} {use.level.backing.name}{mark}" '
        f'{_width(held.amount, use)} title="{escape(title)}">{escape(text)}</div>'
    )


def _width(amount: int, use: Use) -> str:
    share = 100 * amount / use.capacity if use.capacity else 0.0
    return f'style="width:{share:.2f}%"'


KEY = (
    '<div class="key"><span><b class="o0 L1"></b>a tile brought there above</span>'
    '<span><b class="o0 L1 mark"></b>taken at this node</span>'
    '<span><b class="rounded"></b>lost by rounding to a class</span>'
    "<span><b></b>left</span></div>"
)
"""The legend of the parts of a memory."""

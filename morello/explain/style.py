"""The style sheet of the page: one palette for light and one for dark."""

from morello.spec import MEMORIES

STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fbfbf9; --card: #ffffff; --ink: #1c2126; --soft: #59636e;
  --line: #dcdfe3; --hover: #f0f2f4; --bar: #2f6f9f; --hatch: #b9bfc6;
  --op0: #2b6cb0; --op1: #b7600d; --op2: #2f8050; --op3: #8a4bb0;
  --good: #24733f; --code: #f1f3f5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e6e9ec; --soft: #9da7b1;
    --line: #343a41; --hover: #262b31; --bar: #6fb0de; --hatch: #5a636d;
    --op0: #6aa9e9; --op1: #e59a4e; --op2: #6cc08b; --op3: #c08fe0;
    --good: #7fd09a; --code: #262b31;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px 28px 64px; max-width: 2400px;
  background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 4px; }
h3 { font-size: 14px; margin: 18px 0 6px; }
p { margin: 4px 0 10px; max-width: 78ch; }
.soft { color: var(--soft); }
code, .num, .card b, .row { font-variant-numeric: tabular-nums; }
code { font: 13px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0 0; }
.card {
  flex: 1 1 190px; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; padding: 12px 16px;
}
.card b { display: block; font-size: 20px; line-height: 1.35; white-space: nowrap; }
.card span { color: var(--soft); font-size: 13px; }
.panel {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 14px 18px;
}
.scroll { overflow-x: auto; }

.work { width: 100%; border-collapse: collapse; }
.work td { padding: 3px 10px 3px 0; white-space: nowrap; }
.work td.wide { width: 60%; min-width: 140px; padding-right: 0; }
.work td.num { text-align: right; }
.gauge { height: 12px; border-radius: 3px; background: var(--bar); min-width: 2px; }

table.ways { border-collapse: collapse; font-size: 14px; }
.ways td, .ways th { padding: 3px 18px 3px 0; text-align: left; vertical-align: top; }
.ways th { color: var(--soft); font-weight: 500; font-size: 13px; }
.ways td.num, .ways th.num { text-align: right; white-space: nowrap; }
.ways tr + tr td { border-top: 1px solid var(--line); }
.ways .chosen td { color: var(--good); font-weight: 600; }
.ways code + code::before { content: "\\203a\\00a0"; color: var(--soft); }
.ways code + code { color: var(--soft); margin-left: .6ch; }

.tree { font-size: 14px; min-width: 900px; }
.node { position: relative; }
.node summary { cursor: pointer; border-radius: 5px; list-style: none; }
.node summary::-webkit-details-marker { display: none; }
.node summary:focus-visible { outline: 2px solid var(--bar); }
.node > .more > summary { padding: 1px 4px 1px 18px; }
.node > .more > summary:hover { background: var(--hover); }
.node > .more[open] > summary { background: var(--hover); }
.node > .kids > summary { position: absolute; left: 0; top: 1px; width: 17px;
  text-align: center; color: var(--soft); font-size: 11px; line-height: 21px; }
.node > .kids > summary::before { content: "\\25b6"; }
.node > .kids[open] > summary::before { content: "\\25bc"; }
.node > .kids > summary:hover { color: var(--ink); }
.node > .kids > div { margin-left: 8px; padding-left: 6px;
  border-left: 1px solid var(--line); }
.more .panel { margin: 4px 0 12px 18px; background: var(--paper); }
.row { display: flex; gap: 10px; align-items: baseline; }
.row .what { flex: 1 1 auto; min-width: 0; }
.row .what i { font-style: normal; color: var(--soft); }
.row .id { flex: none; min-width: 22px; color: var(--soft); font-size: 12px; }
.row .lv { flex: none; width: 98px; }
.row .cy { flex: none; width: 92px; text-align: right; }
.row .rn { flex: none; width: 64px; text-align: right; }
.row .sh { flex: none; width: 60px; text-align: right; }
.row .meter { flex: none; width: 84px; height: 9px; border-radius: 2px;
  background: var(--line); display: flex; overflow: hidden; align-self: center; }
.meter span { background: var(--bar); opacity: .42; }
.meter .own { opacity: 1; }
.head { padding: 0 4px 4px 18px; border-bottom: 1px solid var(--line);
  margin-bottom: 4px; color: var(--soft); font-size: 12px; }
.chip { display: inline-block; padding: 0 5px; margin-right: 3px; border-radius: 4px;
  font-size: 11.5px; line-height: 18px; color: var(--ink); }

.memory { display: grid; grid-template-columns: 40px minmax(180px, 1fr) auto;
  gap: 6px 12px; align-items: center; }
.memory .name { font-weight: 600; font-size: 13px; }
.memory .say { font-size: 13px; color: var(--soft); white-space: nowrap; }
.store { display: flex; height: 24px; border: 1px solid var(--line);
  border-radius: 4px; overflow: hidden; background: var(--card); }
.store div { min-width: 3px; overflow: hidden; white-space: nowrap; font-size: 12px;
  line-height: 22px; padding: 0; text-align: center; border-right: 1px solid
  var(--card); }
.store .left { border: 0; min-width: 0; }
.store .rounded, .key .rounded { background: repeating-linear-gradient(135deg,
  var(--hatch) 0 2px, transparent 2px 6px); }
.store .taken { box-shadow: inset 0 0 0 2px var(--ink); }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 12.5px;
  color: var(--soft); margin: 8px 0 0; }
.key b { display: inline-block; width: 18px; height: 11px; border-radius: 2px;
  margin-right: 6px; border: 1px solid var(--line); }
.key .mark { box-shadow: inset 0 0 0 2px var(--ink); }

.tiles { display: grid; gap: 16px 28px; margin: 4px 0 6px;
  grid-template-columns: repeat(auto-fit, minmax(310px, 1fr)); }
.tiles figure { margin: 0; display: flex; gap: 14px; align-items: flex-start; }
.tiles figcaption { font-size: 13px; }
.tiles figcaption > b { font-size: 14px; }
.tiles ol { list-style: none; margin: 4px 0 0; padding: 0; }
.tiles li { padding-left: 20px; text-indent: -20px; }
.tiles li b { text-indent: 0; display: inline-block; width: 13px; height: 13px;
  border-radius: 3px; margin-right: 7px; vertical-align: -2px;
  border: 1.5px solid transparent; }
.tiles li b.now { border: 1.5px dashed var(--ink); }
svg { display: block; flex: none; }
svg rect { stroke-width: 1.3; }
svg rect.now { fill: none; stroke: var(--ink); stroke-dasharray: 3 2.4; }
@media print { body { max-width: none; } }
"""


_STRENGTHS = (86, 52, 30, 13)
"""Percents of the colour of an operand, the nearest memory first."""


def _hues() -> str:
    """A class for each operand and level: the nearer a memory, the stronger."""
    rules = []
    for hue in range(4):
        for level in reversed(MEMORIES):
            part = _STRENGTHS[min(level.distance, len(_STRENGTHS) - 1)]
            mix = f"color-mix(in srgb, var(--op{hue}) {part}%, var(--card))"
            rules.append(f".o{hue}.{level} {{ background: {mix}; fill: {mix}; }}")
        rules.append(f"svg .o{hue} {{ stroke: var(--op{hue}); }}")
        rules.append(f"li b.o{hue} {{ border-color: var(--op{hue}); }}")
    return "\n".join(rules)


SHEET = f"{STYLE}{_hues()}\n"
"""The whole style sheet."""

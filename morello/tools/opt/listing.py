"""``--list-passes``, from the passes' docstrings and fields."""

from morello.docstrings import summary
from morello.passes.pipelines.options import Option, options_of
from morello.passes.pipelines.upstream_names import UPSTREAM_NAMES
from morello.passes.registry import Registry

_COLUMN = 34


def list_passes(registry: Registry) -> str:
    """Every pass of ours with its options, then the names of upstream's."""
    lines = ["Passes of Morello, for 'builtin.module(...)':"]
    for name in registry.names():
        cls = registry.load(name)
        lines.append(_row(f"  {name}", summary(cls)))
        lines.extend(_option(option) for option in options_of(cls))
    lines.append("")
    lines.append("Passes of MLIR (any that is registered can be used), among them:")
    lines.extend(f"  {name}" for name in UPSTREAM_NAMES)
    return "\n".join(lines) + "\n"


def _option(option: Option) -> str:
    default = str(option.default).lower() if option.kind is bool else option.default
    text = f"{option.text} (default: {default!s})" if default != "" else option.text
    return _row(f"    {option}", text)


def _row(left: str, right: str) -> str:
    gap = " " * max(2, _COLUMN - len(left))
    return f"{left}{gap}{right}"

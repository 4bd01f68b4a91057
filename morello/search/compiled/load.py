"""Compiling what is in this package, once after installation."""

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

_MODULES = ("box_cover", "tiling", "gather", "counting")

_F = "float64[::1]"
_S = "int32[::1]"
_B = "int8[::1]"
_W = "int64[::1]"
_WW = "int64[:,::1]"
_N = "int64"

SIGNATURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "gather": ("gather", (_F, _S, _N, _N, _WW, _WW)),
    "gather_totals": ("gather", (_F, _N, _N, _W, _WW)),
    "gather_counts": ("gather", (_F, _N, _N, _WW, _WW)),
    "sweep": ("tiling", (_F, _S, _F, _N, _WW, _WW)),
    "sweep_around": ("tiling", (_F, _S, _N, _WW, _WW, "boolean[::1]")),
    "equal_columns": ("tiling", ("float64[:,::1]",)),
    "sweep_counts": ("counting", (_F, _F, _N, _WW, _WW)),
    "count_labels": ("box_cover", (_S, _W)),
    "queue_points": ("box_cover", (_S, _W, _S)),
    "cover_labels": ("box_cover", (_S, _B, *[_W] * 6, _S, _N, _S, _S)),
    "cover_costs": ("box_cover", (_F, _B, *[_W] * 8, _B, _S)),
    "paint_labels": ("box_cover", (_S, *[_W] * 4, _S, _S)),
    "paint_costs": ("box_cover", (_F, _W, _W, _B, *[_W] * 4, _S, _W, _N)),
}
"""The functions that the rest of the search calls: their module and parameters."""


@dataclasses.dataclass(frozen=True)
class Compiled:
    """The functions of `SIGNATURES`, as machine code."""

    functions: dict[str, Callable[..., Any]]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.functions[name]


@functools.cache
def compiled() -> Compiled:
    """The compiled functions; compiling takes some ten seconds where nobody has done
    it before."""
    found = {}
    for name, (module, parameters) in SIGNATURES.items():
        function = _function(module, name)
        function.compile(f"({', '.join(parameters)},)")
        function.disable_compile()
        found[name] = function
    return Compiled(found)


def is_compiled() -> bool:
    """Whether machine code of this version is on disk already."""
    return all(
        getattr(_function(module, name)._cache, "_cache_file", None)
        and _function(module, name)._cache._cache_file._load_index()
        for name, (module, _) in SIGNATURES.items()
    )


def _function(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"morello.search.compiled.{module}"), name)

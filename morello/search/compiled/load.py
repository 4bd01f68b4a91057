"""Compiling what is in this package, once after installation."""

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any, cast

from morello.forks import defer_forks

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


_USUAL = ("gather", "sweep", "equal_columns", "cover_labels", "cover_costs")
"""What every search calls."""


_LOCK = threading.RLock()
"""A function can be compiled once: one thread at a time."""


class Compiled:
    """The functions of `SIGNATURES` as machine code, each from its first use on."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        module, parameters = SIGNATURES[name]
        with defer_forks(), _LOCK:  # numba imports as it compiles
            if name not in self.__dict__:  # else another thread has just done it
                function = _function(module, name)
                function.compile(f"({', '.join(parameters)},)")
                function.disable_compile()
                self.__dict__[name] = function
        return cast(Callable[..., Any], self.__dict__[name])

    def prepare(self) -> None:
        """Compile what every search calls: some ten seconds after installation."""
        for name in _USUAL:
            getattr(self, name)


@functools.cache
def compiled() -> Compiled:
    """The compiled functions."""
    return Compiled()


def is_compiled() -> bool:
    """Whether machine code of what every search calls is on disk already."""
    caches = [_function(SIGNATURES[name][0], name)._cache for name in _USUAL]
    return all(
        hasattr(cache, "_cache_file") and cache._cache_file._load_index()
        for cache in caches
    )


def _function(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"morello.search.compiled.{module}"), name)

"""Modules by the names that they had before: scripts that import them go on to work.

`FORMER_NAMES` is the list. An import by a former name gives the module of today, the
same object, and a `DeprecationWarning` that says where it is.
"""

import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

FORMER_NAMES = {
    "morello.hand_schedule": "morello.compiler.hand_schedule",
    "morello.jit": "morello.runtime",
    "morello.kernel": "morello.compiler.kernel",
    "morello.packing": "morello.compiler.packing",
    "morello.pinning": "morello.compiler.pinning",
    "morello.search.database": "morello.search.storage.database",
    "morello.search.layers": "morello.search.storage.overlay",
    "morello.search.solver": "morello.search.dp.solver",
    "morello.stages": "morello.compiler.stages",
    "morello.target_choice": "morello.compiler.target_choice",
    "morello.targets": "morello.machine",
    "morello.targets.coefficients": "morello.cost.coefficients",
    "morello.threads": "morello.compiler.threads",
    "morello.tuning": "morello.compiler.tuning",
}
"""What modules and packages were called: what they are called."""


def current_name(name: str) -> str | None:
    """What a module is called today; None if no module was called so before."""
    first, rest = name, ""
    while first not in FORMER_NAMES:
        first, dot, last = first.rpartition(".")
        if not dot:
            return None
        rest = f".{last}{rest}"
    return FORMER_NAMES[first] + rest


class _Package(types.ModuleType):
    """A package by its former name. Its path is empty, so that no file is found by it
    and loaded a second time."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        # Many look at the special names of every module that there is.
        if not name.startswith("__"):
            value = getattr(importlib.import_module(FORMER_NAMES[self.__name__]), name)
            _warn(self.__name__, stacklevel=3)
            return value
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


class _Finder(MetaPathFinder, Loader):
    """Finds modules by their former names; asked after all that find files."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        today = current_name(fullname) if fullname.startswith("morello.") else None
        if today is None or importlib.util.find_spec(today) is None:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> None:
        """Python makes an empty module, which is replaced when it is executed."""

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        today = importlib.import_module(str(current_name(name)))
        _warn(name, stacklevel=3)
        is_package = name in FORMER_NAMES and hasattr(today, "__path__")
        sys.modules[name] = _Package(name) if is_package else today


def _warn(name: str, stacklevel: int) -> None:
    """Say where a module is now, at the line that imports it."""
    text = f"the module {name} is called {current_name(name)} now"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def find_former_names() -> None:
    """From now on, imports by former names find the modules."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.append(_Finder())
    # `morello.jit` is a function today. An import of the package that was called so
    # would put the package in its place; one that is there already does not.
    sys.modules["morello.jit"] = _Package("morello.jit")

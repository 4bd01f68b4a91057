"""Names to passes. One row a pass; a pass is imported when it is first used.

To add a pass: write ``passes/<name>.py``, add one `Row` to `_ROWS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from morello.errors import PipelineError

if TYPE_CHECKING:
    from morello.passes.base import Bundle, Pass


@dataclass(frozen=True, order=True)
class Row:
    """Location of one pass.

    Args:
        name: the pass's argument in a pipeline, e.g. ``morello-synthesize``.
        module: the Python module that defines it.
        attribute: in that module, the class, a `Pass` or a `Bundle`.
    """

    name: str
    module: str
    attribute: str

    @property
    def owner(self) -> str:
        """``module:attribute``, as errors name it."""
        return f"{self.module}:{self.attribute}"


class Registry:
    """A map from names to passes, loaded on demand."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows: dict[str, Row] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Make a pass known. Adding the same row again changes nothing.

        Raises:
            PipelineError: another class owns the name.
        """
        held = self._rows.get(row.name)
        if held is not None and held != row:
            raise PipelineError(
                f"two passes are called '{row.name}': {held.owner} and {row.owner}",
                "rename one of them",
            )
        self._rows[row.name] = row

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def names(self) -> list[str]:
        """All names, sorted; loads nothing."""
        return sorted(self._rows)

    def load(self, name: str) -> type[Pass] | type[Bundle]:
        """The class of the pass or bundle called ``name``.

        Raises:
            PipelineError: no pass has this name, or its row leads to nothing
                of this name.
        """
        if name not in self._rows:
            raise PipelineError(
                f"no pass is called '{name}'",
                f"Morello's are: {', '.join(self.names()) or 'none'}",
            )
        row = self._rows[name]
        module = importlib.import_module(row.module)
        loaded: type[Pass] | type[Bundle] | None = getattr(module, row.attribute, None)
        if loaded is None or loaded.name != name:
            what = "missing" if loaded is None else f"called '{loaded.name}'"
            raise PipelineError(
                f"the row of pass '{name}' leads to {row.owner}, which is {what}",
                "correct the row in morello/passes/registry.py",
            )
        return loaded


_ROWS: tuple[Row, ...] = (
    Row(
        "convert-linalg-to-morello",
        "morello.passes.convert_linalg_to_morello",
        "ConvertLinalgToMorello",
    ),
    Row(
        "convert-stablehlo-to-morello",
        "morello.passes.convert_stablehlo_to_morello",
        "ConvertStablehloToMorello",
    ),
    Row("morello-apply-schedule", "morello.passes.apply_schedule", "ApplySchedule"),
    Row("morello-check-lowered", "morello.passes.check_lowered", "CheckLowered"),
    Row("morello-entry-points", "morello.passes.entry_points", "EntryPoints"),
    Row("morello-lower-kernels", "morello.passes.lower_kernels", "LowerKernels"),
    Row("morello-lower-to-llvm", "morello.passes.bundles", "LowerToLlvm"),
    Row("morello-parallelize", "morello.passes.parallelize", "Parallelize"),
    Row("morello-plan-memory", "morello.passes.plan_memory", "PlanMemory"),
    Row("morello-synthesize", "morello.passes.synthesize", "Synthesize"),
)

PASSES = Registry(_ROWS)
"""Every pass of Morello, and the passes of loaded plug-ins."""

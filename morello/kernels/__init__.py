"""Kernels: the leaves of programs, straight vector code for small tiles.

Read `template.py` (what a kernel is), `emitter.py` (what it writes), then `table.py`,
where `KERNELS` maps the names that schedules use to kernels: templates with parameters.
To add one, write a row there, and a template if none has its code. Nothing here knows
of MLIR: `morello.passes.parts.emission` writes the code.
"""

from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.table import KERNELS, by_name, kernels_for
from morello.kernels.template import Kernel

__all__ = ["KERNELS", "Buffer", "Emitter", "Kernel", "by_name", "kernels_for"]

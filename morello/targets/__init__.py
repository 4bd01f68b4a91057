"""Targets: what the search and the code generator know of a machine.

`target.py` says what a target is; each other module here is one, listed in `TARGETS`;
`host.py` says what the machine at hand has.
"""

from morello.errors import TargetError
from morello.targets.avx2 import AVX2
from morello.targets.target import Target

TARGETS = {target.name: target for target in (AVX2,)}

__all__ = ["AVX2", "TARGETS", "Target", "find_target"]


def find_target(name: str) -> Target:
    """The target called ``name``.

    Raises:
        TargetError: no target has this name.
    """
    if name not in TARGETS:
        raise TargetError(
            f"unknown target '{name}'", f"use one of {', '.join(TARGETS)}"
        )
    return TARGETS[name]

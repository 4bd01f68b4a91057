"""The coefficients that are shipped: a file a machine, as `morello calibrate` writes.

A file holds the text form of a target with every number written out, so that
``--target @FILE`` reads it as well, and the digests of what they were measured with. A
coefficient that is younger than a file has its default there.
"""

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TypedDict

from morello.errors import TargetError
from morello.machine.costs import Coefficients, OpCosts, names
from morello.machine.digests import stale
from morello.machine.file import read_target_file

FOLDER = Path(__file__).parent / "coefficients"

_NUMBER = re.compile(r"(\w+)=(\d+)")


class Costs(TypedDict):
    """The fields of a `Target` that are measured."""

    coefficients: Coefficients
    ops: OpCosts
    stale: tuple[str, ...]


def shipped(name: str) -> Costs:
    """The costs of the target ``name``.

    Raises:
        TargetError: its file is missing, or lacks a number.
    """
    path = FOLDER / f"{name}.target"
    file = read_target_file(str(path))
    numbers = {key: int(n) for key, n in _NUMBER.findall(file.text)}
    kinds = Coefficients, OpCosts
    missing = {f.name for kind in kinds for f in fields(kind) if f.default is MISSING}
    wrong = sorted((missing - numbers.keys()) | (numbers.keys() - {*names(*kinds)}))
    if wrong:
        raise TargetError(
            f"the coefficients of '{name}' in {path} lack or have too much: "
            f"{', '.join(wrong)}",
            "write the file anew: morello calibrate -o FILE",
        )
    coefficients, ops = (
        {key: numbers[key] for key in names(kind) if key in numbers} for kind in kinds
    )
    return Costs(
        coefficients=Coefficients(**coefficients),
        ops=OpCosts(**ops),
        stale=stale(file.digests),
    )

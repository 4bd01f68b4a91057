"""The kinds of Specs, by the name that the text form gives them."""

from collections.abc import Callable

from morello.errors import SpecError
from morello.spec.fill import Fill
from morello.spec.kind import Kind
from morello.spec.matmul import Matmul
from morello.spec.maximum import Max
from morello.spec.move import Move


def _matmul(accum: bool, options: dict[str, str]) -> Matmul:
    value = options.pop("saturating", "false")
    if value not in ("true", "false"):
        raise SpecError(
            f"option saturating={value}", "write saturating=true or saturating=false"
        )
    return Matmul(accum, value == "true")


KINDS: dict[str, Callable[[int, dict[str, str]], Kind]] = {
    "matmul": lambda rank, options: _matmul(False, options),
    "matmul_accum": lambda rank, options: _matmul(True, options),
    "move": lambda rank, options: Move(rank),
    "fill": lambda rank, options: Fill(rank, options.pop("value", "zero")),
    "max": lambda rank, options: Max(accum=False),
    "max_accum": lambda rank, options: Max(accum=True),
}
"""Label → kind, from the number of sizes and the options it takes out of them."""

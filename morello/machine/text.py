"""The text form of a target: ``avx2``, or ``avx2{threads=2,fork=1000}``.

The name is that of a known target, or ``native`` for the one that is nearest to this
machine; in braces stand the numbers that differ from it, of the target itself or of its
coefficients, and 0 or 1 for what it may do or not; ``stale=gemm_tile+load`` are the
kernels that have changed since the numbers were measured. So a module can name any
target.
``@FILE`` is the target that a file holds in this form.
"""

import dataclasses
import re
import warnings
from collections.abc import Sequence
from typing import Any

from morello.errors import TargetError, shortened
from morello.machine.costs import Coefficients, OpCosts
from morello.machine.digests import digests, stale
from morello.machine.file import read_target_file
from morello.machine.target import Target
from morello.machine.targets.avx2 import AVX2
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.machine.targets.avx2_vnni import AVX2_VNNI
from morello.machine.targets.avx2_zen3 import AVX2_ZEN3
from morello.machine.targets.avx2_zen5 import AVX2_ZEN5
from morello.machine.targets.avx512 import AVX512
from morello.machine.targets.avx512_amx import AVX512_AMX
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16
from morello.machine.targets.avx512_zen4 import AVX512_ZEN4
from morello.machine.targets.avx512_zen5 import AVX512_ZEN5
from morello.suggestions import did_you_mean

TARGETS = {
    target.name: target
    for target in (
        AVX2,
        AVX2_GOLDEN_COVE,
        AVX2_ZEN3,
        AVX2_ZEN5,
        AVX2_VNNI,
        AVX512,
        AVX512_VNNI_BF16,
        AVX512_AMX,
        AVX512_ZEN4,
        AVX512_ZEN5,
    )
}
"""The known targets, by name."""

UNNAMED = "avx2"
"""The target of a module that names none."""

NATIVE = "native"
"""The name that stands for the target that is nearest to this machine."""

_TEXT = re.compile(r"(?P<name>[\w.-]+)(?:\{(?P<changes>[^{}]*)\})?")

_FLAGS = tuple(f.name for f in dataclasses.fields(Target) if f.type is bool)
_OWN = (*(f.name for f in dataclasses.fields(Target) if f.type is int), *_FLAGS)
_STALE = "stale"
_NAMES = re.compile(rf"{_STALE}\s*=")
_COEFFICIENTS = tuple(f.name for f in dataclasses.fields(Coefficients))
_OPS = tuple(f.name for f in dataclasses.fields(OpCosts))


class TargetWarning(UserWarning):
    """A target whose costs are not those of this machine."""


def find_target(text: str) -> Target:
    """The target written ``text``; or, for ``@FILE``, the one written in a file.

    Raises:
        TargetError: no target has this name, a change cannot be read or made, or the
            file cannot be read.
    """
    text = text.strip()
    if not text.startswith("@"):
        return parse_target(text)
    file = read_target_file(text[1:])
    try:
        target = parse_target(file.text)
    except TargetError as error:
        raise TargetError(f"{text[1:]}: {error.what}", error.remedy) from None
    if file.digests is None:
        return target
    return dataclasses.replace(target, stale=stale(file.digests))


def parse_target(text: str) -> Target:
    """The target written ``text``, in which no file is named: as a module names it.

    Raises:
        TargetError: no target has this name, or a change cannot be read or made.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None or match["name"] not in (*TARGETS, NATIVE):
        raise TargetError(
            f"unknown target '{shortened(text)}'",
            f"use one of {', '.join((*TARGETS, NATIVE))}, with changes in braces if "
            "wanted: avx2{threads=2}; or @FILE for a file that holds one"
            + did_you_mean(text.partition("{")[0].strip(), (*TARGETS, NATIVE)),
        )
    target = _native() if match["name"] == NATIVE else TARGETS[match["name"]]
    parts = [part.strip() for part in (match["changes"] or "").split(",")]
    numbers = [part for part in parts if part and not _NAMES.match(part)]
    changes = _changes(text, numbers)
    names = _stale(text, [part for part in parts if _NAMES.match(part)])
    if not changes and names is None:
        return target
    fields = {name: value for name, value in changes.items() if name in _OWN}
    units = {name: value for name, value in changes.items() if name in _COEFFICIENTS}
    ops = {name: value for name, value in changes.items() if name in _OPS}
    values: dict[str, Any] = {
        "coefficients": dataclasses.replace(target.coefficients, **units),
        "ops": dataclasses.replace(target.ops, **ops),
        **fields,
    }
    changed = dataclasses.replace(target, **values)
    expected = _stale_of(changed, target) if names is None else names
    return dataclasses.replace(changed, stale=expected)


def _native() -> Target:
    """The target for this machine; asking for the machine loads LLVM."""
    from morello.machine.native import native_target, unmeasured_cpu

    target, cpu = native_target(), unmeasured_cpu()
    if cpu is not None:
        warnings.warn(
            f"the costs of this CPU ({cpu}) are not known, and those of the target "
            f"'{target.name}' are used: programs may be slower than they could be; "
            "measure them with 'morello calibrate -o FILE' and set "
            f"MORELLO_TARGET=@FILE, or set MORELLO_TARGET={target.name}",
            TargetWarning,
            stacklevel=2,
        )
    return target


def print_target(target: Target, whole: bool = False) -> str:
    """The text that `find_target` reads back.

    Args:
        whole: write every coefficient, so that the text means the same whatever the
            known target has.

    Raises:
        TargetError: it differs from the known target of its name in more than numbers.
    """
    known = TARGETS.get(target.name)
    if known is None:
        raise TargetError(
            f"the target '{target.name}' is not known",
            f"derive it from one of {', '.join(TARGETS)} with dataclasses.replace",
        )
    pairs = [
        *((name, target, known) for name in _OWN),
        *((name, target.coefficients, known.coefficients) for name in _COEFFICIENTS),
        *((name, target.ops, known.ops) for name in _OPS),
    ]
    changes = [
        f"{name}={int(getattr(mine, name))}"
        for name, mine, theirs in pairs
        if getattr(mine, name) != getattr(theirs, name)
        or (whole and mine is not target)
    ]
    if target.stale != _stale_of(target, known):
        changes.append(f"{_STALE}={'+'.join(target.stale)}")
    text = f"{target.name}{{{','.join(changes)}}}" if changes else target.name
    if find_target(text) != target:
        raise TargetError(
            f"the target '{target.name}' differs from the known one in more than "
            "numbers",
            "give it kernels, cpu and features of the known one",
        )
    return text


def _stale_of(target: Target, known: Target) -> tuple[str, ...]:
    """The stale prices of a target whose text does not name them: none if its costs
    are its own, else those of the known target."""
    same = (target.coefficients, target.ops) == (known.coefficients, known.ops)
    return known.stale if same else ()


def _stale(text: str, parts: Sequence[str]) -> tuple[str, ...] | None:
    """The names after ``stale=``; None if there is no such part.

    Raises:
        TargetError: there are several parts, or something else than a price is named.
    """
    if not parts:
        return None
    names = [name.strip() for name in parts[0].partition("=")[2].split("+")]
    stale = tuple(name for name in names if name)
    unknown = [name for name in stale if name not in digests()]
    if len(parts) > 1 or unknown or len(set(stale)) < len(stale):
        raise TargetError(
            f"'{shortened(','.join(parts))}' in the target '{shortened(text)}' names "
            "no prices",
            "write stale= once, with names of kernels, each once, and + in between",
        )
    return tuple(name for name in digests() if name in stale)


def _changes(text: str, changes: Sequence[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for change in changes:
        name, _, value = (part.strip() for part in change.partition("="))
        if name not in (*_OWN, *_COEFFICIENTS, *_OPS):
            raise TargetError(
                f"the target '{shortened(text)}' has no number '{shortened(name)}'",
                f"those are {', '.join((*_OWN, *_COEFFICIENTS, *_OPS))}"
                + did_you_mean(name, (*_OWN, *_COEFFICIENTS, *_OPS)),
            )
        if not re.fullmatch(r"\d{1,15}", value, re.ASCII) or name in numbers:
            raise TargetError(
                f"'{shortened(change)}' in the target '{shortened(text)}' gives no "
                "number",
                "write each once, as name=number",
            )
        numbers[name] = _flag(name, value) if name in _FLAGS else int(value)
    return numbers


def _flag(name: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise TargetError(f"'{name}={value}' is neither no nor yes", "write 0 or 1")
    return value == "1"

"""The check of the CPU asks for the bits that manuals say."""

import pytest

from morello.errors import CompileError
from morello.machine.cpuid import BITS, Query, needs

pytestmark = pytest.mark.quick

REGISTERS = "abcd"
_1C = (1, 0, "c")

# Of Intel's and AMD's manuals: leaf, sub-leaf, register and bit.
KNOWN: dict[str, tuple[int, int, str, int]] = {
    "sse": (1, 0, "d", 25),
    "cmov": (1, 0, "d", 15),
    "fma": (1, 0, "c", 12),
    "sse4.2": (1, 0, "c", 20),
    "avx": (1, 0, "c", 28),
    "f16c": (1, 0, "c", 29),
    "bmi": (7, 0, "b", 3),
    "avx2": (7, 0, "b", 5),
    "bmi2": (7, 0, "b", 8),
    "avx512f": (7, 0, "b", 16),
    "avx512dq": (7, 0, "b", 17),
    "avx512cd": (7, 0, "b", 28),
    "avx512bw": (7, 0, "b", 30),
    "avx512vl": (7, 0, "b", 31),
    "avx512vbmi": (7, 0, "c", 1),
    "avx512vnni": (7, 0, "c", 11),
    "amx-bf16": (7, 0, "d", 22),
    "avx512fp16": (7, 0, "d", 23),
    "amx-tile": (7, 0, "d", 24),
    "amx-int8": (7, 0, "d", 25),
    "avxvnni": (7, 1, "a", 4),
    "avx512bf16": (7, 1, "a", 5),
    "avxvnniint8": (7, 1, "d", 4),
    "xsavec": (0xD, 1, "a", 1),
    "lzcnt": (0x80000001, 0, "c", 5),
    "64bit": (0x80000001, 0, "d", 29),
}


def masks_of(*features: str) -> tuple[dict[tuple[int, int, str], int], int]:
    """The bits that a check wants in each register, and the registers saved."""
    saved, count, *rest = needs(frozenset(features))
    rows = [rest[i : i + 4] for i in range(0, len(rest), 4)]
    assert len(rows) == count
    assert rows == sorted(rows)
    return {(leaf, sub, REGISTERS[r]): mask for leaf, sub, r, mask in rows}, saved


@pytest.mark.parametrize(("feature", "bit"), KNOWN.items())
def test_a_feature_is_asked_for_by_its_bit(
    feature: str, bit: tuple[int, int, str, int]
) -> None:
    masks, saved = masks_of(feature)
    *query, place = bit
    uses = feature.startswith(("avx512", "amx"))
    uses = uses or feature in ("avx", "fma", "f16c", "avx2")
    if uses:  # the system lets programs ask which registers it saves
        assert masks[_1C] >> 27 & 1
        masks[_1C] &= ~(1 << 27)
    assert {q: m for q, m in masks.items() if m} == {tuple(query): 1 << place}
    registers = {"avx512": 0xE6, "amx-": 0x60000}
    wanted = [r for start, r in registers.items() if feature.startswith(start)]
    assert saved == (wanted[0] if wanted else 0x6 if uses else 0)


def test_features_are_asked_for_together() -> None:
    masks, saved = masks_of("avx2", "fma", "bmi", "lzcnt", "avx512bf16")
    assert masks == {
        (1, 0, "c"): 1 << 12 | 1 << 27,
        (7, 0, "b"): 1 << 5 | 1 << 3,
        (7, 1, "a"): 1 << 5,
        (0x80000001, 0, "c"): 1 << 5,
    }
    assert saved == 0xE6
    assert masks_of("avx512f", "amx-tile")[1] == 0x600E6


def test_no_two_features_have_one_bit() -> None:
    assert len({*BITS.values()}) == len(BITS)
    assert all(0 <= bit < 32 for _, bit in BITS.values())
    assert {q.leaf for q, _ in BITS.values()} == {1, 7, 0xD, 0x80000001}
    assert Query(1, 0, 2) < Query(7, 0, 1) < Query(7, 1, 0)


def test_a_feature_without_a_bit_is_refused() -> None:
    with pytest.raises(CompileError, match="CPU feature 'avx1024'"):
        needs(frozenset({"sse2", "avx1024"}))

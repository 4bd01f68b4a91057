"""The check of the CPU asks for what manuals say, in an order in which it may."""

import re

import pytest

from morello.errors import CompileError
from morello.machine.cpuid import BITS, Query, cpu_check

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
    "avx512fp16": (7, 0, "d", 23),
    "avxvnni": (7, 1, "a", 4),
    "avx512bf16": (7, 1, "a", 5),
    "avxvnniint8": (7, 1, "d", 4),
    "xsavec": (0xD, 1, "a", 1),
    "lzcnt": (0x80000001, 0, "c", 5),
    "64bit": (0x80000001, 0, "d", 29),
}


class Asked:
    """Reads a check: what it compares, and what it waits for before."""

    def __init__(self, features: set[str]) -> None:
        self.text = cpu_check("check", frozenset(features), "")
        self.masks: dict[tuple[int, int, str], int] = {}
        self.least: dict[int, int] = {}
        """The least that the highest leaf, or the highest sub-leaf of 7, may be."""
        self.saved = 0
        names: dict[str, tuple[int, int, str]] = {}
        for line in self.text.splitlines():
            self._read(line, names)
        assert self.text.count("call { i32, i32, i32, i32 }") == len(
            {*re.findall(r"%(leaf\w+\.\d) = call", self.text)}
        )

    def _read(self, line: str, names: dict[str, tuple[int, int, str]]) -> None:
        if m := re.search(r"(%value\d+) = .*%leaf(\w+)\.(\d), (\d)", line):
            leaf, subleaf = int(m[2], 16), int(m[3])
            names[m[1]] = (leaf, subleaf, REGISTERS[int(m[4])])
        elif m := re.search(r"icmp uge i32 (%value\d+), (\d+)", line):
            assert names[m[1]][2] == "a"
            self.least[names[m[1]][0]] = int(m[2])
        elif m := re.search(r"and i32 (%[\w.]+), (\d+)", line):
            if m[1] == "%xcr0.low":
                self.saved = int(m[2])
                return
            query = names[m[1]]
            self.masks[query] = int(m[2])
            self._check_order(query)

    def _check_order(self, query: tuple[int, int, str]) -> None:
        """A leaf is asked for where there is one alone."""
        leaf, subleaf, _ = query
        assert self.least[leaf & 0x80000000] >= leaf
        if leaf == 7:
            assert self.least.get(7, 0) >= subleaf


@pytest.mark.parametrize(("feature", "bit"), KNOWN.items())
def test_a_feature_is_asked_for_by_its_bit(
    feature: str, bit: tuple[int, int, str, int]
) -> None:
    asked = Asked({feature})
    *query, place = bit
    masks = dict(asked.masks)
    uses = feature.startswith("avx512") or feature in ("avx", "fma", "f16c", "avx2")
    if uses:  # the system lets programs ask which registers it saves
        assert masks[_1C] >> 27 & 1
        masks[_1C] &= ~(1 << 27)
    assert {q: m for q, m in masks.items() if m} == {tuple(query): 1 << place}
    zmm = feature.startswith("avx512")
    assert asked.saved == (0xE6 if zmm else 0x6 if uses else 0)
    assert ("xgetbv" in asked.text) == uses


def test_features_are_asked_for_together() -> None:
    asked = Asked({"avx2", "fma", "bmi", "lzcnt", "avx512bf16"})
    assert asked.masks == {
        (1, 0, "c"): 1 << 12 | 1 << 27,
        (7, 0, "b"): 1 << 5 | 1 << 3,
        (7, 1, "a"): 1 << 5,
        (0x80000001, 0, "c"): 1 << 5,
    }
    assert asked.saved == 0xE6
    assert asked.least == {0: 7, 7: 1, 0x80000000: 0x80000001}


def test_no_two_features_have_one_bit() -> None:
    assert len({*BITS.values()}) == len(BITS)
    assert all(0 <= bit < 32 for _, bit in BITS.values())
    assert {q.leaf for q, _ in BITS.values()} == {1, 7, 0xD, 0x80000001}
    assert Query(1, 0, 2) < Query(7, 0, 1) < Query(7, 1, 0)


def test_a_feature_without_a_bit_is_refused() -> None:
    with pytest.raises(CompileError, match="CPU feature 'avx1024'"):
        cpu_check("check", frozenset({"sse2", "avx1024"}), "")

"""The CPU check of a kernel, compared with LLVM's knowledge of the CPU."""

import ctypes
import itertools
import re

import llvmlite.binding as lb
import pytest

from morello.aot.entry_points import called, cpu_check
from morello.errors import CompileError
from morello.machine import host
from morello.machine.architectures import HOST
from morello.machine.cpuid import BITS
from morello.runtime.engine import Engine, compile_for_linker, load

pytestmark = pytest.mark.quick

ASKED = lb.get_host_cpu_features()
CASES = sorted(BITS)


def function(number: int, engine: Engine) -> int:
    native = ctypes.CFUNCTYPE(ctypes.c_int)(engine.address(f"has{number}"))
    first, second = native(), native()
    assert first == second
    return int(first)


def build(cases: list[frozenset[str]]) -> Engine:
    checks = (cpu_check(f"has{i}", case) for i, case in enumerate(cases))
    text = "\n".join([called(), *checks])
    return load(compile_for_linker("", text, cpu="x86-64"))


def test_each_feature_is_found_where_llvm_finds_it() -> None:
    engine = build([frozenset({name}) for name in CASES])
    has = {name: function(i, engine) for i, name in enumerate(CASES)}
    assert has == {name: int(ASKED[name]) for name in CASES}
    assert 0 < sum(has.values()) < len(has)


def test_no_two_features_share_a_bit() -> None:
    """A CPU that has both tells no difference."""
    assert len(set(BITS.values())) == len(BITS)


def test_features_together_are_there_if_each_is() -> None:
    pairs = [frozenset(pair) for pair in itertools.pairwise(CASES)]
    wholes = [frozenset(CASES), frozenset(n for n in CASES if ASKED[n]), frozenset()]
    engine = build([*pairs, *wholes])
    for i, case in enumerate([*pairs, *wholes]):
        assert function(i, engine) == all(ASKED[name] for name in case), case


@pytest.mark.parametrize("cpu", sorted(HOST.cpus))
def test_every_cpu_that_can_be_compiled_for_can_be_asked(cpu: str) -> None:
    features = host.required_features(cpu)
    assert function(0, build([features])) == (not host.missing_features(cpu))


Registers = tuple[int, int, int, int]

EVERY = -1
"""All bits: what a leaf that a CPU lacks may answer with, too."""


def answers(
    features: frozenset[str],
    leaves: dict[tuple[int, int], Registers],
    xcr0: int,
    permission: int = 0,
) -> int:
    """The answer on a CPU that is made up.

    Args:
        leaves: EAX, EBX, ECX and EDX by leaf and sub-leaf; others have every bit.
        xcr0: what the system saves.
        permission: what it answers to who asks for tiles.
    """
    text = called() + cpu_check("has", features)
    four = "{ i32, i32, i32, i32 }"
    text = re.sub(r'asm sideeffect "cpuid", "[^"]*"', "@cpuid", text)
    text = re.sub(r'asm sideeffect "xgetbv", "[^"]*"', "@xgetbv", text)
    text = re.sub(r'asm sideeffect "syscall", "[^"]*"', "@permit", text)
    lines = [f"define {four} @cpuid(i32 %leaf, i32 %sub) {{"]
    for number, ((leaf, sub), registers) in enumerate(leaves.items()):
        fields = ", ".join(f"i32 {word & 0xFFFFFFFF}" for word in registers)
        lines.append(
            f"  %a{number} = icmp eq i32 %leaf, {leaf}\n"
            f"  %b{number} = icmp eq i32 %sub, {sub}\n"
            f"  %c{number} = and i1 %a{number}, %b{number}\n"
            f"  br i1 %c{number}, label %is{number}, label %not{number}\n"
            f"is{number}:\n  ret {four} {{ {fields} }}\nnot{number}:"
        )
    lines.append(f"  ret {four} {{ i32 -1, i32 -1, i32 -1, i32 -1 }}\n}}")
    lines.append("define { i32, i32 } @xgetbv(i32 %which) {")
    lines.append(f"  ret {{ i32, i32 }} {{ i32 {xcr0}, i32 0 }}\n}}")
    # arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
    lines.append("define i64 @permit(i64 %call, i64 %what, i64 %state) {")
    for name, number in (("call", 158), ("what", 0x1023), ("state", 18)):
        lines.append(f"  %is_{name} = icmp eq i64 %{name}, {number}")
    lines.append(f"""  %two = and i1 %is_call, %is_what
  %all = and i1 %two, %is_state
  %answer = select i1 %all, i64 {permission}, i64 -38
  ret i64 %answer\n}}""")
    engine = load(compile_for_linker("", text + "\n".join(lines), cpu="x86-64"))
    native = ctypes.CFUNCTYPE(ctypes.c_int)(engine.address("has"))
    return int(native())


OSXSAVE, YMM, ZMM, TILES = 1 << 27, 0x6, 0xE6, 0x60000
BASIC, EXTENDED = (0, 0), (1 << 31, 0)


@pytest.mark.parametrize(
    ("features", "leaves", "xcr0", "wanted"),
    [
        ("sse4.2", {BASIC: (1, 0, 0, 0)}, 0, 1),
        ("sse4.2", {BASIC: (0, 0, 0, 0)}, 0, 0),
        ("sse4.2 movbe", {(1, 0): (0, 0, 1 << 20, EVERY)}, 0, 0),
        ("sse4.2 movbe", {(1, 0): (0, 0, 1 << 20 | 1 << 22, 0)}, 0, 1),
        ("bmi2", {BASIC: (6, 0, 0, 0)}, 0, 0),
        ("bmi2", {BASIC: (7, 0, 0, 0)}, 0, 1),
        ("bmi2", {(7, 0): (0, 0, EVERY, EVERY)}, 0, 0),
        # Leaf 7 says how many sub-leaves it has.
        ("avxifma", {(7, 0): (0, EVERY, EVERY, EVERY)}, YMM, 0),
        ("avxifma", {(7, 0): (1, 0, 0, 0)}, YMM, 1),
        ("avxifma", {(7, 1): (0, EVERY, EVERY, EVERY)}, YMM, 0),
        ("lzcnt", {EXTENDED: (1 << 31, 0, 0, 0)}, 0, 0),
        ("lzcnt", {EXTENDED: ((1 << 31) + 1, 0, 0, 0)}, 0, 1),
        # What the system does not save is of no use.
        ("avx2", {}, YMM, 1),
        ("avx2", {}, 0x2, 0),
        ("fma", {}, 0x4, 0),
        ("f16c", {(1, 0): (0, 0, EVERY ^ OSXSAVE, 0)}, YMM, 0),
        ("f16c", {(1, 0): (0, 0, OSXSAVE | 1 << 29, 0)}, YMM, 1),
        ("avx512f", {}, YMM, 0),
        ("avx512f", {}, ZMM ^ 0x20, 0),
        ("avx512f", {}, ZMM, 1),
        ("sse2", {}, 0, 1),
    ],
)
def test_a_cpu_that_is_made_up(
    features: str, leaves: dict[tuple[int, int], Registers], xcr0: int, wanted: int
) -> None:
    assert answers(frozenset(features.split()), leaves, xcr0) == wanted


@pytest.mark.parametrize(
    ("features", "xcr0", "permission", "wanted"),
    [
        ("amx-tile avx512f", TILES | ZMM, 0, 1),
        ("amx-int8", TILES, 0, 1),
        ("amx-tile avx512f", ZMM, 0, 0),
        ("amx-bf16", 0x20000, 0, 0),
        ("amx-tile avx512f", TILES | ZMM, -28, 0),  # ENOSPC
        ("avx512f", TILES | ZMM, -28, 1),  # who has no use for tiles does not ask
    ],
)
def test_tiles_are_asked_for(
    features: str, xcr0: int, permission: int, wanted: int
) -> None:
    assert answers(frozenset(features.split()), {}, xcr0, permission) == wanted


def test_nothing_but_x86_64_is_used_before_the_answer() -> None:
    text = called() + cpu_check("has", frozenset(CASES))
    code = compile_for_linker("", text, cpu="znver4").assembly()
    assert "cpuid" in code
    assert not [line for line in code.splitlines() if "ymm" in line or "xmm" in line]
    # What later CPUs add to whole numbers: BMI, LZCNT, MOVBE.
    for word in ("andn", "bextr", "blsi", "shlx", "shrx", "rorx", "lzcnt", "movbe"):
        assert word not in code


def test_a_feature_that_is_not_known() -> None:
    with pytest.raises(CompileError, match=r"no test at run time .* feature 'warp'"):
        cpu_check("has", frozenset({"avx2", "warp"}))

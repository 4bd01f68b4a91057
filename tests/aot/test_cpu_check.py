"""The CPU check of a kernel, compared with LLVM's knowledge of the CPU."""

import ctypes
import itertools

import llvmlite.binding as lb
import pytest

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
    text = "\n".join(HOST.cpu_check(f"has{i}", case) for i, case in enumerate(cases))
    return load(compile_for_linker("", text, cpu="x86-64"))


def test_each_feature_is_found_where_llvm_finds_it() -> None:
    engine = build([frozenset({name}) for name in CASES])
    found = {name: function(i, engine) for i, name in enumerate(CASES)}
    assert found == {name: int(ASKED[name]) for name in CASES}
    assert 0 < sum(found.values()) < len(found)


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
    engine = build([features])
    assert function(0, engine) == (not host.missing_features(cpu))


def test_nothing_but_x86_64_is_used_before_the_answer() -> None:
    text = HOST.cpu_check("has", frozenset(CASES))
    compiled = compile_for_linker("", text, cpu="znver4")
    code = compiled.assembly()
    assert "cpuid" in code
    assert not [line for line in code.splitlines() if "ymm" in line or "xmm" in line]
    # What later CPUs add to whole numbers: BMI, LZCNT, MOVBE.
    for word in ("andn", "bextr", "blsi", "shlx", "shrx", "rorx", "lzcnt", "movbe"):
        assert word not in code


def test_a_feature_that_is_not_known() -> None:
    with pytest.raises(CompileError, match=r"no test at run time .* feature 'warp'"):
        HOST.cpu_check("has", frozenset({"avx2", "warp"}))

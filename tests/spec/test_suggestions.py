"""What was perhaps meant, and Specs from text."""

import pickle
from typing import Any

import pytest

from morello.errors import MorelloError, SpecError, TargetError
from morello.machine import AVX2, find_target
from morello.spec import Spec, parse_open_spec, parse_spec
from morello.suggestions import did_you_mean

pytestmark = pytest.mark.quick


def test_what_is_like_nothing_means_nothing() -> None:
    names = ("matmul", "move")
    assert did_you_mean("MatMull", names) == "; did you mean 'matmul'?"
    assert did_you_mean("gemm", names, {"gemm": "matmul"}) == "; did you mean 'matmul'?"
    assert did_you_mean("xyz", names) == did_you_mean("", names) == ""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("matmull:8x8x8", "matmul"),
        ("MATMUL:8x8x8", "matmul"),
        ("gemm:8x8x8", "matmul"),
        ("copy:8x8", "move"),
        ("matmul:8X8X8", "8x8x8"),
        ("matmul:8*8*8:f32", "8x8x8"),
        ("matmul:8,8, 8:f32", "8x8x8"),
        ("fill:8\u00d78", "8x8"),
        ("fill:4:float32", "f32"),
        ("fill:4:F32", "f32"),
        ("fill:4:i32", "s32"),
        ("fill:4:int8", "s8"),
        ("fill:4:uint16", "u16"),
        ("fill:4:bfloat16", "bf16"),
        ("fill:4:f32:vlaue=zero", "value"),
        ("matmul:4x4x4:f32:rsh=[0,2,1]", "rhs"),
        ("matmul:4x4x4:f32:rsh=any", "rhs"),
        ("move:4x4:f32:src=[0,1]@l1", "L1"),
    ],
)
def test_texts_of_specs(text: str, meant: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_open_spec(text, AVX2.limits)
    assert str(caught.value).endswith(f"; did you mean '{meant}'?")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("avx-2", "avx2"),
        ("AVX2{fork=1}", "avx2"),
        ("natvie", "native"),
        ("avx2{thread=2}", "threads"),
        ("avx2-zen-3", "avx2-zen3"),
    ],
)
def test_targets(text: str, meant: str) -> None:
    with pytest.raises(TargetError, match=rf"; did you mean '{meant}'\?$"):
        find_target(text)


def test_a_spec_is_parsed_for_a_target() -> None:
    spec = Spec.parse("matmul:8x8x8:f32:rhs=[0,2,1]")
    assert spec == parse_spec("matmul:8x8x8:f32:rhs=[0,2,1]", AVX2.limits)
    zen3 = find_target("avx2-zen3{l1_lines=64}")
    assert Spec.parse("fill:3", target=zen3).limits == zen3.limits
    assert Spec.parse("fill:3", target="avx2-zen3{l1_lines=64}").limits == zen3.limits
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Spec("fill:3"), r"write Spec\.parse\('fill:3'\)"),  # type: ignore[call-arg, arg-type]
        (lambda: Spec.parse("fill"), "'fill' is not a Spec"),
        (lambda: Spec.parse(b"fill:3"), "'text' is bytes, not the text"),  # type: ignore[arg-type]
        (lambda: Spec.parse("fill:3", 7), "'target' is int, not a target or its name"),
        (
            lambda: Spec.parse("matmul:8x8x8:f32:rhs=any"),
            "only morello.compile takes 'any'",
        ),
    ],
)
def test_what_is_no_spec(make: Any, reason: str) -> None:
    with pytest.raises(MorelloError, match=reason):
        make()


def test_files_of_mlir_are_for_other_commands() -> None:
    with pytest.raises(SpecError, match=r"morello run, bench, explain and save$"):
        Spec.parse("model.mlir")

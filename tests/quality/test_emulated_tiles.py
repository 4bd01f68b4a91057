"""Whole programs in tiles, whose instructions are calls of a model of them."""

from typing import Any

import numpy as np
import pytest

from morello.actions import Select
from morello.kernels import KERNELS
from morello.kernels.gemm.tile_dot import TileDot
from morello.machine import find_target
from morello.machine.isa import AVX512_VNNI_BF16
from morello.runtime.engine import Engine, compile_llvm
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import parse_spec
from tests.kernels.harness import skip_where_it_cannot_run
from tests.kernels.tiles import TILES, with_emulated_tiles
from tests.quality import programs
from tests.quality.execution import check_all
from tests.quality.programs import Program, build_programs

CHEAP = find_target("avx512-amx{tile_dot=1000,tile_row=10,tile_config=1000}")
"""A target on which small products go to tiles, too."""

TEXTS = (
    "matmul:2x37x72x45:u8,s8,s32:l2=0",
    "matmul_accum:40x67x35:s8,s8,s32:l2=0",
    "matmul:17x40x33:u8,u8,s32:l2=0",
    "matmul:16x32x40:s8,u8,s32:l2=0",
    "matmul:33x67x70:bf16,bf16,f32:flushing=true:l2=0",
    "matmul:9x64x32:s8,s8,s32:l2=0:rhs=[0,2,1,2p32,1p4]",
)


def in_tiles(impl: Impl) -> set[str]:
    """The kernels of a program that compute in tiles."""
    names = {n.action.kernel for n in impl.walk() if isinstance(n.action, Select)}
    return {name for name in names if isinstance(KERNELS[name], TileDot)}


def compile_emulated(text: str, **options: Any) -> Engine:
    """`compile_llvm` for a CPU without tiles."""
    isa = AVX512_VNNI_BF16
    features = ",".join(f"+{feature}" for feature in isa.features)
    changed = {**options, "cpu": isa.cpu, "features": features}
    return compile_llvm(with_emulated_tiles(text), **changed)


def check_tiles(program: Program, rng: np.random.Generator) -> None:
    """Everything done with tiles was right, and they are released at the end."""
    assert not TILES.faults, (program.label, TILES.faults)
    assert TILES.configured, program.label
    assert not any(rows for rows, _ in TILES.shapes), program.label


@pytest.mark.sampled(10)
@pytest.mark.parametrize("text", TEXTS)
def test_programs_in_tiles_are_exact(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, odd rows, columns and k, packed operands, sums of what there was."""
    skip_where_it_cannot_run(AVX512_VNNI_BF16)
    spec = parse_spec(text, CHEAP.limits)
    impl = Solver(CHEAP.at(spec)).solve(spec).impl
    assert len(in_tiles(impl)) == 1
    monkeypatch.setattr(programs, "compile_llvm", compile_emulated)
    check_all(build_programs([impl], [text], CHEAP), 0, check_tiles)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        ("matmul:64x64x64:u8,s8,s32", {"tile_dot4_exact_amx"}),
        ("matmul:64x64x64:s8,s8,s32", {"tile_dot4_signed_amx"}),
        ("matmul:64x64x64:u8,u8,s32", {"tile_dot4_unsigned_amx"}),
        ("matmul:64x64x64:s8,u8,s32", {"tile_dot4_signed_lhs_amx"}),
        ("matmul:64x64x64:bf16,bf16,f32:flushing=true", {"tile_dot2_bf16_amx"}),
        ("matmul:64x64x64:bf16,bf16,f32", set()),
        ("matmul:2x3x4:u8,s8,s32", set()),
    ],
)
def test_the_search_takes_tiles_where_they_pay(text: str, kernels: set[str]) -> None:
    """Products of bytes, and of bf16 where the Spec lets denormals be zero."""
    target = find_target("avx512-amx")
    spec = parse_spec(f"{text}:l2=0", target.limits)
    assert in_tiles(Solver(target.at(spec)).solve(spec).impl) == kernels

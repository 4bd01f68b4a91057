"""Several kernels in one object: the CPU decides which one runs."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.aot.entry_points import Status
from morello.aot.library import Library
from morello.aot.variants import Variants
from morello.errors import CompileError
from morello.machine import TARGETS
from morello.machine.host import missing_features
from morello.machine.tile_permission import TILE_FEATURES
from morello.runtime.object_file import undefined_symbols
from tests.aot.compiler import NEEDS_CC, Linked, run
from tests.kernels.harness import features_text
from tests.quality.compiled import unsearched

SPEC = "matmul:9x33x20:f32:l2=0"


def library(target: str, spec: str = SPEC) -> Library:
    return morello.compile(spec, target=target).library("k")


def needing(one: Library, *features: str) -> Library:
    """The same kernel, which says that it needs more of the CPU."""
    stages = one.stages
    target = dataclasses.replace(
        stages.target, features=(*stages.target.features, *features)
    )
    return dataclasses.replace(one, stages=dataclasses.replace(stages, target=target))


def constant(value: str) -> Library:
    """A kernel that shows by its output that it ran."""
    return unsearched(f"fill:9:s32:value={value}").library("k")


def ran(several: Variants, folder: Path) -> set[int]:
    """What the checked and the unchecked function have written."""
    linked = Linked(several, folder)
    assert linked.supported() == 1
    out = np.full((2, 9), 5, np.int32)
    assert linked(out[0]) == Status.OK
    linked.raw(*linked.pointers(out[1]), suffix="_unchecked")
    return set(out.ravel().tolist())


@NEEDS_CC
def test_the_kernel_that_needs_the_most_runs(tmp_path: Path) -> None:
    better = needing(constant("lowest"), "sse4.2", "pclmul")
    assert ran(Variants.of([constant("zero"), better]), tmp_path) == {-(2**31)}


@NEEDS_CC
def test_another_runs_where_the_cpu_lacks_a_feature(tmp_path: Path) -> None:
    lacking = missing_features("haswell", "+sse4a,+avx512fp16,+avxvnniint8")
    assert lacking, "no CPU has all of these"
    better = needing(constant("lowest"), lacking[0])
    assert ran(Variants.of([better, constant("zero")]), tmp_path) == {0}


@NEEDS_CC
def test_no_kernel_runs_where_the_cpu_can_run_none(tmp_path: Path) -> None:
    (lacking, *_) = missing_features("haswell", "+sse4a,+avx512fp16,+avxvnniint8")
    both = [needing(constant("zero"), lacking)]
    both += [needing(constant("lowest"), lacking, "pclmul")]
    linked = Linked(Variants.of(both), tmp_path)
    out = np.full(9, 5, np.int32)
    assert linked.supported() == 0
    assert linked(out) == Status.UNSUPPORTED
    assert set(out.tolist()) == {5}


@pytest.mark.sampled(2)
@NEEDS_CC
@pytest.mark.parametrize("suffix", [".o", ".s"])
def test_kernels_of_all_widths_compute_their_spec(tmp_path: Path, suffix: str) -> None:
    several = Variants.of([library("avx2"), library("avx512")])
    assert several.workspace_bytes == max(
        one.stages.workspace_bytes for one in several.variants
    )
    linked = Linked(several, tmp_path, suffix=suffix)
    kernel = morello.compile(SPEC, target="avx2")
    arrays = kernel.spec.random(np.random.default_rng(0))
    out = np.zeros((1, 9, 20), np.float32)
    assert linked(*arrays, out) == Status.OK
    assert np.array_equal(out, kernel.spec.evaluate(*arrays))


@pytest.mark.parametrize("larger", [0, 1])
def test_the_workspace_is_that_of_the_largest(larger: int) -> None:
    text = "matmul:7x9x17:f32:lhs=[0,1,2]:rhs=[0,2,1]"
    pair = [unsearched(text, seed).library("k") for seed in (3, 1)]
    sizes = [one.workspace_bytes for one in pair]
    assert 0 < sizes[0] < sizes[1]
    pair[larger] = needing(pair[larger], "sse4.2", "pclmul")
    several = Variants.of(pair)
    assert several.variants[0].workspace_bytes == sizes[larger]
    assert several.workspace_bytes == sizes[1]
    assert f"#define k_WORKSPACE_BYTES {sizes[1]}\n" in several.header


def test_each_kernel_has_the_code_of_its_target() -> None:
    text = Variants.of([library("avx2"), library("avx512")]).assembly
    first, second = text.split("k.variant1:\n")
    assert "%zmm" in first
    assert "%ymm" in second
    assert "%zmm" not in second


def test_an_object_of_several_needs_nothing_but_c() -> None:
    several = Variants.of([library("avx2"), library("avx512")])
    assert set(undefined_symbols(several.object)) <= {"memcpy", "memset", "memmove"}
    assert several.object == Variants.of(several.variants).object


@NEEDS_CC
def test_the_header_names_what_each_needs(tmp_path: Path) -> None:
    several = Variants.of([library("avx2"), library("avx512")])
    assert "for avx512 and avx2." in several.header
    assert "With avx512bw, " in several.header
    several.save(tmp_path / "k.h")
    run("cc", "-fsyntax-only", "-Wall", "-Werror", "-x", "c", tmp_path / "k.h")


def test_kernels_that_cannot_be_one_function_are_refused() -> None:
    with pytest.raises(CompileError, match="for avx2 and avx512 take other arrays"):
        Variants.of([library("avx2"), library("avx512", "fill:9:f32")])
    zen3 = library("avx2-zen3")
    with pytest.raises(CompileError, match="would never run; give targets of several"):
        Variants.of([library("avx2"), zen3])


def test_every_target_of_this_cpu_can_be_a_variant() -> None:
    # Code without tiles needs nothing of what they need.
    different = {
        frozenset(target.features) - TILE_FEATURES: name
        for name, target in TARGETS.items()
        if not missing_features(target.isa.cpu, features_text(target.isa))
    }
    several = Variants.of([library(name) for name in different.values()])
    assert len(several.variants) == len(different) > 0
    assert several.object

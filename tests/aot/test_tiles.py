"""Objects with tiles: they ask for permission, and say where there is none."""

import functools
from pathlib import Path

import numpy as np

from morello.aot.entry_points import Status
from morello.aot.library import Library
from morello.aot.variants import Variants
from morello.compiler.kernel import parameters
from morello.compiler.stages import build_stages
from morello.machine import AVX2, Target, host
from morello.machine.architectures import HOST
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16
from morello.machine.tile_permission import TILE_FEATURES
from morello.search import Solver
from morello.spec import parse_spec
from tests.aot.compiler import NEEDS_CC, STRICT, run
from tests.kernels.harness import features_text
from tests.quality.test_emulated_tiles import CHEAP

SPEC = "matmul:17x40x36:u8,s8,s32:l2=0"

MAIN = """\
#include "NAME.h"
#include <stdio.h>

static uint8_t a[17 * 40];
static int8_t b[40 * 36];
static int32_t c[17 * 36];

int main(void)
{
    for (int i = 0; i < 17 * 40; i++) a[i] = (uint8_t)(i % 251);
    for (int i = 0; i < 40 * 36; i++) b[i] = (int8_t)(i % 253 - 126);
    int status = NAME_malloc(a, b, c);
    long long sum = 0;
    for (int i = 0; i < 17 * 36; i++) sum = (sum * 31 + c[i]) % 1000000007;
    printf("%d %d %lld", NAME_supported(), status, sum);
    return 0;
}
"""


def checksum() -> int:
    a = (np.arange(17 * 40) % 251).reshape(17, 40)
    b = (np.arange(40 * 36) % 253 - 126).reshape(40, 36)
    total = 0
    for number in (a @ b).reshape(-1).tolist():
        total = int(np.fmod(total * 31 + number, 1000000007))
    return total


@functools.cache
def library_for(target: Target, text: str = SPEC) -> Library:
    """The kernel for a machine, which need not be this one."""
    spec = parse_spec(text, target.limits)
    stages = build_stages(spec, target, Solver(target.at(spec)).solve(spec))
    return Library(stages, parameters(spec), "k")


def answer(name: str, folder: Path) -> list[int]:
    """Answers of a program: is it supported, the status, a sum of the output."""
    (folder / "main.c").write_text(MAIN.replace("NAME", name))
    run("cc", *STRICT, "-std=c99", "-o", "p", "main.c", f"{name}.o", cwd=folder)
    return [int(word) for word in run(folder / "p").split()]


@NEEDS_CC
def test_an_object_says_whether_it_may_use_tiles(tmp_path: Path) -> None:
    isa = CHEAP.isa
    missing = host.missing_features(isa.cpu, features_text(isa))
    has_tiles = not missing and not HOST.withheld()
    library = library_for(CHEAP)
    assert "tdpbusd" in library.assembly
    assert "to permit tiles" in library.header
    for suffix in (".o", ".h"):
        library.save(tmp_path / f"k{suffix}")
    if has_tiles:
        assert answer("k", tmp_path) == [1, Status.OK.value, checksum()]
    else:
        assert answer("k", tmp_path) == [0, Status.UNSUPPORTED.value, 0]


@NEEDS_CC
def test_an_object_for_several_cpus_takes_another_kernel(tmp_path: Path) -> None:
    library = Variants.of([library_for(target) for target in (CHEAP, AVX2)])
    for suffix in (".o", ".h"):
        library.save(tmp_path / f"k{suffix}")
    assert answer("k", tmp_path) == [1, Status.OK.value, checksum()]


def test_an_object_without_tiles_does_not_need_them() -> None:
    library = library_for(CHEAP, "fill:5x9:f32")
    assert library.required == library_for(AVX512_VNNI_BF16, "fill:5x9:f32").required
    assert "tiles" not in library.header
    assert library_for(CHEAP).required - library.required == TILE_FEATURES

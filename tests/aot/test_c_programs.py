"""Kernels in programs: the example, the header in C and C++, threads."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.aot.entry_points import Status
from morello.compiler.kernel import Kernel
from morello.runtime.openmp import openmp_library
from tests.aot.compiler import NEEDS_CC, NEEDS_CXX, STRICT, Linked, run
from tests.aot.test_library import SPECS
from tests.compiler.test_parallel import CHEAP_FORK
from tests.compiler.test_parallel import SPECS as PARALLEL_SPECS
from tests.quality.compiled import arguments, same_bytes, unsearched

pytestmark = pytest.mark.usefixtures("one_database")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "vecmat.c"

USE = """\
#include "k.h"
#include <stdio.h>

int main(void)
{
    printf("%d\\n", k_supported());
    return k_malloc(ARGUMENTS) == k_NULL ? 0 : 1;
}
"""
"""A program that compiles only if the header and the object agree on all names."""


def use(text: str, folder: Path) -> Path:
    """The program, its header and its object."""
    kernel = unsearched(text)
    for suffix in (".o", ".h"):
        kernel.save(folder / f"k{suffix}", "k")
    nothing = ", ".join("0" for _ in kernel.parameters)
    path = folder / "use.c"
    path.write_text(USE.replace("ARGUMENTS", nothing))
    return path


@pytest.mark.sampled(2)
@NEEDS_CC
@pytest.mark.parametrize("text", SPECS)
def test_the_header_is_c(text: str, tmp_path: Path) -> None:
    path = use(text, tmp_path)
    for standard in ("c99", "c11"):
        flags = (*STRICT, f"-std={standard}", "-o", tmp_path / "use")
        run("cc", *flags, path, tmp_path / "k.o")
        assert run(tmp_path / "use") == "1\n"


@pytest.mark.sampled(2)
@NEEDS_CXX
@pytest.mark.parametrize("text", SPECS)
def test_the_header_is_cxx(text: str, tmp_path: Path) -> None:
    path = use(text, tmp_path)
    for standard in ("c++11", "c++20"):
        flags = (*STRICT, f"-std={standard}", "-o", tmp_path / "use")
        run("c++", *flags, "-x", "c++", path, "-x", "none", tmp_path / "k.o")
        assert run(tmp_path / "use") == "1\n"


@NEEDS_CC
@pytest.mark.parametrize("linking", ["-no-pie", "-pie", "-static"])
def test_an_object_links_in_every_way(linking: str, tmp_path: Path) -> None:
    path = use("matmul:2x5x3x7:s32", tmp_path)
    run("cc", linking, "-o", tmp_path / "use", path, tmp_path / "k.o")
    assert run(tmp_path / "use") == "1\n"


@NEEDS_CC
def test_names_that_differ_in_case_only(tmp_path: Path) -> None:
    sizes = {"mv": "20x33", "MV": "5x4", "mV": "3x3"}
    for name, size in sizes.items():
        library = unsearched(f"move:{size}:f32:dst=[1,0]").library(name)
        for suffix in (".o", ".h"):
            library.save(tmp_path / f"{size}{suffix}")
    heads = "".join(f'#include "{size}.h"\n' for size in sizes.values())
    (tmp_path / "m.c").write_text(
        f"{heads}int main(void) {{ static float x[660], y[660];"
        "return mv(x, y) | MV(x, y) | mV(x, y) | (MV_SRC_ELEMENTS != 20)"
        "| (mv_DST_ELEMENTS != 660) | (mV_DST_ELEMENTS != 9); }\n"
    )
    objects = [f"{size}.o" for size in sizes.values()]
    run("cc", *STRICT, "-std=c99", "m.c", *objects, "-o", "m", cwd=tmp_path)
    run(tmp_path / "m")


@NEEDS_CXX
@NEEDS_CC
def test_names_that_the_header_uses_itself(tmp_path: Path) -> None:
    """As of operands, and of variables of the function with a workspace."""
    spec = "matmul:17x23x31:f32:lhs=[0,1,2,1p6]:rhs=[0,2,1]"
    tried = (unsearched(spec, seed) for seed in range(20))
    kernel = next(kernel for kernel in tried if kernel.workspace_bytes)
    words = ["lhs", "rhs", "out", "workspace", "memory", "past", "status"]
    lines = [f'#include "{word}.h"' for word in words]
    for word in words:
        kernel.library(word).save(tmp_path / f"{word}.h")
        call = f"{word}_malloc(0, 0, 0)"
        lines.append(f"int use_{word}(void) {{ return {call} != {word}_NULL; }}")
    for compiler, file in (("cc", "use.c"), ("c++", "use.cpp")):
        (tmp_path / file).write_text("\n".join(lines) + "\n")
        run(compiler, *STRICT, "-c", file, cwd=tmp_path)


@NEEDS_CC
def test_the_workspace_from_malloc_is_aligned_and_large_enough(tmp_path: Path) -> None:
    """Wherever the memory begins; beside it nothing is written, and it is freed."""
    kernel = unsearched("matmul:7x9x17:f32:lhs=[0,1,2]:rhs=[0,2,1]", 1)
    assert kernel.workspace_bytes
    kernel.library("k").save(tmp_path / "k.h")
    (tmp_path / "use.c").write_text(
        """
        #include <stdint.h>
        #include <stdlib.h>
        #include <string.h>
        static char arena[1 << 16];
        static size_t shift, given;
        static int taken;
        static void *lend(size_t size) {
            given = size;
            taken++;
            return taken > 64 ? NULL : arena + 1024 + shift;
        }
        static void back(void *memory) { taken -= memory == arena + 1024 + shift; }
        #define malloc lend
        #define free back
        #include "k.h"
        int k(const k_lhs_t *lhs, const k_rhs_t *rhs, k_out_t *out, void *workspace) {
            memset(workspace, 7, k_WORKSPACE_BYTES);
            return (uintptr_t)workspace % k_WORKSPACE_ALIGNMENT ? 99 : k_OK;
        }
        int main(void) {
            char *base = arena + 1024;
            for (shift = 0; shift < 64; shift++) {
                memset(arena, 0, sizeof arena);
                if (k_malloc(0, 0, 0) != k_OK || taken) return 1;
                for (char *at = arena; at < arena + sizeof arena; at++)
                    if (*at && (at < base + shift || at >= base + shift + given))
                        return 2;
            }
            taken = 64;
            return k_malloc(0, 0, 0) == k_NO_MEMORY ? 0 : 3;
        }
        """
    )
    run("cc", "-std=c99", "use.c", "-o", "use", cwd=tmp_path)
    run(tmp_path / "use")


def test_python_without_docstrings_knows_meanings() -> None:
    code = (
        "from morello.docstrings import summary; from morello.spec.kinds import KINDS;"
        "print([summary(kind) for kind in KINDS])"
    )
    flags = ("-c", code)
    plain, stripped = run(sys.executable, *flags), run(sys.executable, "-OO", *flags)
    assert plain == stripped
    assert "A copy, a change of layout, or a cast" in plain


def test_the_header_says_what_it_is() -> None:
    kernel = unsearched("matmul:17x23x31:f32:lhs=[0,1,2,1p6]")
    text = kernel.library("mm").header
    assert text.startswith(
        "/* matmul:17x23x31:f32:lhs=[0,1,2,1p6], compiled by Morello"
    )
    joined = " ".join(text.split())
    assert (
        "lhs: reads 1 x 17 x 23 float32 in the layout [0,1,2,1p6]: memory holds 1 x 3 "
        "x 23 x 6 elements, row-major without gaps; 1656 bytes, aligned to 4." in joined
    )
    assert "out: writes 1 x 17 x 31 float32, row-major without gaps; 2108" in joined
    assert f"#define mm_WORKSPACE_BYTES {kernel.workspace_bytes}\n" in text
    assert "#define mm_LHS_ELEMENTS 414\n" in text
    assert "It needs a CPU with 64bit, avx, avx2," in text
    assert max(map(len, text.splitlines())) <= 90
    accumulates = unsearched("matmul_accum:9x33x20:s32").library("mm").header
    assert "out: reads and writes 1 x 9 x 20 int32" in " ".join(accumulates.split())
    graph = unsearched("rms_norm:3x9:f32").library("mm").header
    assert max(map(len, graph.splitlines())) <= 90
    joined = " ".join(graph.split())
    assert "v0[d0]=sum(square(x0[d0, d1])); " in joined
    assert "x1[d1], where d0 = 3, d1 = 9. x0: reads 3 x 9 float32" in joined


def example_kernel(spec: str, folder: Path) -> Kernel:
    """The kernel of the example, saved as its comment says."""
    kernel = morello.compile(spec)
    for suffix in (".o", ".h"):
        kernel.save(folder / f"vecmat{suffix}", "vecmat")
    return kernel


@pytest.mark.sampled(2)
@NEEDS_CC
@pytest.mark.parametrize(
    "spec", ["matmul:1x100x333:f32", "matmul:1x64x160:f32,bf16,f32", "matmul:1x1x1:f32"]
)
def test_the_example_does_for_other_sizes(spec: str, tmp_path: Path) -> None:
    example_kernel(spec, tmp_path)
    program = tmp_path / "vecmat"
    flags = (*STRICT, "-std=c99", "-I", tmp_path, "-o", program)
    run("cc", *flags, EXAMPLE, tmp_path / "vecmat.o")
    assert run(program).startswith("exact; ")


@NEEDS_CC
def test_the_example_notices_a_wrong_kernel(tmp_path: Path) -> None:
    example_kernel("matmul:1x100x333:f32", tmp_path)
    text = EXAMPLE.read_text().replace("+= number(k) *", "+= 2 * number(k) *")
    path = tmp_path / "wrong.c"
    path.write_text(text)
    run("cc", "-O2", "-o", tmp_path / "vecmat", path, tmp_path / "vecmat.o")
    with pytest.raises(AssertionError, match="wrong: status 0"):
        run(tmp_path / "vecmat")


@pytest.mark.sampled(2)
@NEEDS_CC
def test_the_commands_of_the_readme(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert block.splitlines() == [
        line.strip()
        for line in EXAMPLE.read_text().split("\n\n")[1].splitlines()
        if line.strip()
    ]
    (tmp_path / "examples").symlink_to(EXAMPLE.parent)
    assert run("bash", "-euc", block, cwd=tmp_path).startswith("exact; ")


def runtime() -> str:
    """The OpenMP runtime as a linker takes it."""
    path = openmp_library()
    assert path is not None
    return path


def shared_out(text: str) -> Kernel:
    kernel = morello.compile(text, target=CHEAP_FORK, threads=2)
    assert kernel.threads == 2
    return kernel


@pytest.mark.sampled(5)
@NEEDS_CC
@pytest.mark.parametrize("text", PARALLEL_SPECS)
def test_parallel_kernels(text: str, tmp_path: Path) -> None:
    kernel = shared_out(text)
    linked = Linked(kernel.library("k"), tmp_path, runtime())
    for seed in range(2):
        arrays, expected = arguments(kernel, seed)
        assert linked(*arrays) == Status.OK
        assert same_bytes(arrays, expected)
    header = " ".join(kernel.library("k").header.split())
    assert "up to 2 threads by OpenMP. Link it with" in header


THREADS = """\
#include "k.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern const float lhs[], rhs[], expected[];
const float lhs[] = {LHS}, rhs[] = {RHS}, expected[] = {EXPECTED};

static int calls(int count)
{
    int wrong = 0;
    while (count--) {
        float out[k_OUT_ELEMENTS];
        memset(out, 0xff, sizeof out);
        wrong += k_malloc(lhs, rhs, out) != k_OK;
        wrong += memcmp(out, expected, sizeof out) != 0;
    }
    return wrong;
}

static void *work(void *wrong)
{
    *(int *)wrong = calls(300);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    int wrong[4], i, total = calls(10);
    for (i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &wrong[i]);
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        total += wrong[i];
    }
#pragma omp parallel for reduction(+ : total)
    for (i = 0; i < 8; i++)
        total += calls(20);
    printf("%d wrong\\n", total);
    return 0;
}
"""
"""Many threads call a kernel that has threads; then a parallel region does."""


def _literal(array: np.ndarray[Any, Any]) -> str:
    return ", ".join(f"{value}f" for value in array.reshape(-1))


@NEEDS_CC
def test_threads_call_a_kernel_with_threads(tmp_path: Path) -> None:
    kernel = shared_out("matmul:49x8x24")
    (lhs, rhs, _), (*_, expected) = arguments(kernel, 5)
    for suffix in (".o", ".h"):
        kernel.save(tmp_path / f"k{suffix}", "k")
    text = THREADS
    for name, array in (("LHS", lhs), ("RHS", rhs), ("EXPECTED", expected)):
        text = text.replace(f"{{{name}}}", f"{{{_literal(array)}}}")
    (tmp_path / "threads.c").write_text(text)
    # Compiled for any OpenMP, linked with the one runtime that has both interfaces.
    run("cc", "-O2", "-fopenmp", "-c", "threads.c", cwd=tmp_path)
    folder = str(Path(runtime()).parent)
    link = (runtime(), f"-Wl,-rpath,{folder}", "-lpthread")
    run("cc", "-o", "threads", "threads.o", "k.o", *link, cwd=tmp_path)
    assert run(tmp_path / "threads") == "0 wrong\n"

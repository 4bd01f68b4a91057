"""Several kernels in one object, pack functions, and the examples that serve layers."""

import ctypes
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import morello
from morello.aot.bundle import Bundle
from morello.aot.entry_points import Status
from morello.aot.library import Files
from morello.aot.variants import Variants
from morello.errors import CompileError
from morello.runtime.object_file import undefined_symbols
from morello.tools.morello import main
from morello.weights import ScaledWeights, in_bytes
from tests.aot.compiler import NEEDS_CC, NEEDS_CXX, STRICT, Linked, run
from tests.aot.test_variants import constant, needing
from tests.guarded import check_canaries, guarded_array
from tests.quality.compiled import arguments, same_bytes, unsearched

pytestmark = pytest.mark.usefixtures("one_database")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

PACKED = (
    "matmul:5x33x21:f32:rhs=[0,2,1,2p16]",
    "matmul:2x5x33x21:f32:lhs=[1,0,2]:rhs=[0,2,1]",
    "matmul:5x33x21:f32:rhs=[0,2,1]/ld40",
    "matmul:9x33x20:s32:lhs=[2,0,1,2p4,1p2]",
    "move:20x33:bf16,f32:src=[1,0,1oe16]",
)
"""Padded packs, several operands, gaps between rows, two packs, odd and even apart."""


@NEEDS_CC
@pytest.mark.parametrize("text", PACKED)
def test_the_pack_function_does_what_the_kernel_reads(
    text: str, tmp_path: Path
) -> None:
    kernel = unsearched(text)
    library = kernel.library("k")
    linked = Linked(library, tmp_path)
    spec = kernel.spec
    names = [operand.name for operand in spec.kind.operands]
    assert library.packable
    for operand in library.packable:
        index = names.index(operand.name)
        rng = np.random.default_rng(0)
        numbers = rng.integers(1, 100, spec.shape(index))
        array = numbers.astype(spec.dtypes[index].numpy)
        wanted = spec.to_physical(index, array)
        outer = np.zeros([2 * n for n in array.shape], array.dtype)
        inner = outer[tuple(slice(n) for n in array.shape)]
        inner[...] = array
        for source in (array, inner, np.asfortranarray(array)):
            result = spec.argument(index, 0xFF)
            untouched = result.base.copy()
            steps = [step // array.itemsize for step in source.strides]
            strides = (ctypes.c_ssize_t * array.ndim)(*steps)
            pack = linked._native[f"k_pack_{operand.name}"]
            pack(
                ctypes.c_void_p(source.ctypes.data),
                None if source is array else strides,
                ctypes.c_void_p(result.ctypes.data),
            )
            assert np.array_equal(result, wanted)
            result.view(f"u{array.itemsize}")[...] = untouched.view(
                f"u{array.itemsize}"
            ).flat[0]
            assert same_bytes([result.base], [untouched])


@pytest.mark.sampled(2)
@NEEDS_CC
@pytest.mark.parametrize("activations", ["f32", "s8"])
def test_a_linked_product_reads_the_weights_that_it_packs(
    activations: Literal["f32", "s8"], tmp_path: Path
) -> None:
    """Integers of 4 bits with offsets: guarded operands, sums that are exact."""
    rng = np.random.default_rng(1)
    k, n, group = 96, 70, 32
    weights = ScaledWeights(
        rng.integers(0, 256, (k // 2, n)).astype(np.uint8),
        (2.0 ** rng.integers(-1, 2, (k // group, n))).astype(np.float16),
        offsets=rng.integers(-7, 8, (k // group, n)).astype(np.float16),
        bits=4,
    )
    x = rng.integers(-127, 128, (2, k)).astype(np.float32)
    x[:, ::group] = 127  # the scale of each group is 1
    before = (x,) if activations == "f32" else in_bytes(x, group)
    names = [f"x{len(before) + i}" for i in range(len(weights.arguments))]
    text = weights.spec(2, activations) + "".join(f":{name}=any" for name in names)
    kernel = morello.compile(text, threads=1, target="avx2", time_limit=30)
    assert "scaled_" in kernel.schedule
    linked = Linked(kernel.library("k"), tmp_path)
    arguments = [guarded_array(array, "end") for array in before]
    for name, array in zip(names, weights.arguments, strict=True):
        packed = kernel.spec.argument(int(name[1:]), 0xFF)
        source = [ctypes.c_void_p(array.ctypes.data), None]
        linked._native[f"k_pack_{name}"](*source, ctypes.c_void_p(packed.ctypes.data))
        arguments.append(guarded_array(packed, "end", False))
    out = guarded_array(np.zeros((2, n), np.float32), "end")
    assert linked(*arguments, out) == Status.OK
    check_canaries(out)
    wanted = x.astype(np.float64) @ weights.values().astype(np.float64)
    assert np.array_equal(out, wanted)


def test_operands_that_lie_row_major_have_no_pack_function() -> None:
    library = unsearched("matmul:5x9x17:f32:out=[0,2,1]").library("k")
    assert library.packable == ()
    assert "k_pack" not in library.header


@NEEDS_CC
def test_kernels_of_one_object(tmp_path: Path) -> None:
    texts = {
        "mm": "matmul:17x23x31:f32:lhs=[0,1,2,1p6]",
        "other": "matmul_accum:9x33x20:s32",
        "mx": "max:33x65:f32",
    }
    kernels = {name: unsearched(text) for name, text in texts.items()}
    bundle = Bundle.of([kernel.library(name) for name, kernel in kernels.items()])
    assert set(undefined_symbols(bundle.object)) <= {"memcpy", "memset", "memmove"}
    for suffix in (".o", ".h"):
        bundle.save(tmp_path / f"all{suffix}")
    shared = tmp_path / "all.so"
    run("cc", "-shared", "-Wl,--no-undefined", "-o", shared, tmp_path / "all.o")
    native = ctypes.CDLL(str(shared))
    for name, kernel in kernels.items():
        for seed, suffix in enumerate(["", "_unchecked"]):
            arrays, expected = arguments(kernel, seed)
            assert (
                call(native[f"{name}{suffix}"], kernel, arrays) in (0, None) or suffix
            )
            assert same_bytes(arrays, expected)
    (tmp_path / "use.c").write_text(
        '#include "all.h"\nint main(void) '
        "{ return mm_supported() + other_supported() + mx_supported() - 3; }\n"
    )
    run("cc", *STRICT, "-std=c99", "use.c", "all.o", "-o", "use", cwd=tmp_path)
    run(tmp_path / "use")


def call(function: Any, kernel: Any, arrays: list[Any]) -> Any:
    memory = np.zeros(kernel.workspace_bytes + 64, np.uint8)
    start = int(memory.ctypes.data)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    if kernel.workspace_bytes:
        pointers.append(ctypes.c_void_p(start + -start % 64))
    return function(*pointers)


@NEEDS_CC
def test_variants_may_be_among_them(tmp_path: Path) -> None:
    better = needing(constant("lowest"), "sse4.2", "pclmul")
    several = Variants.of([constant("zero"), better])
    other = unsearched("fill:9:s32:value=zero").library("other")
    bundle = Bundle.of([several, other])
    bundle.save(tmp_path / "all.o")
    shared = tmp_path / "all.so"
    run("cc", "-shared", "-Wl,--no-undefined", "-o", shared, tmp_path / "all.o")
    native = ctypes.CDLL(str(shared))
    out = np.full((2, 9), 5, np.int32)
    for row, library in zip(out, (several, other), strict=True):
        assert call(native[library.name], library, [row]) == Status.OK
    assert (out[0] == -(2**31)).all()
    assert (out[1] == 0).all()


def test_one_kernel_is_as_it_is_alone() -> None:
    library = unsearched("fill:9:s32:value=zero").library("k")
    assert Bundle.of([library]) is library


def test_names_that_collide_are_refused() -> None:
    library = unsearched("fill:9:s32:value=zero").library("k")
    with pytest.raises(CompileError, match="2 kernels have the name 'k'"):
        Bundle.of([library, library])
    for bundle in (Bundle, Bundle.of):
        with pytest.raises(CompileError, match="there is no kernel to save"):
            bundle(())


def specs(example: str) -> dict[str, str]:
    """The Specs in the command at the head of an example, by their names."""
    head = (EXAMPLES / example).read_text().split("*/")[0].replace("\\\n", " ")
    (command,) = re.findall(r"^ +morello (.*)$", head, re.M)
    words = shlex.split(command)
    first = {"name": words[words.index("--name") + 1], "spec": words[1]}
    by_name = {first["name"]: first["spec"]}
    pairs = [w for flag, w in pairwise(words) if flag == "--also"]
    return by_name | dict(pair.split("=", 1) for pair in pairs)


def build(example: str, bundle: Files, folder: Path) -> str:
    """What the program of an example prints, strictly compiled."""
    name = Path(example).stem
    for suffix in (".o", ".h"):
        bundle.save(folder / f"{name}{suffix}")
    program = folder / name
    flags = (*STRICT, "-std=c++17", "-I", folder, "-I", EXAMPLES, "-pthread")
    run("c++", *flags, "-o", program, EXAMPLES / example, folder / f"{name}.o")
    return run(program)


RIGHT = re.compile(r"right; 1 threads, .*\nright; 2 threads, .*\n")


@pytest.mark.sampled(4)
@NEEDS_CXX
def test_the_example_serves_a_block(tmp_path: Path) -> None:
    """With random programs, and layouts that a search might choose; the random ones of
    attention are too slow."""
    libraries = []
    for name, text in specs("block.cpp").items():
        text = text.replace("rhs=any", "rhs=[0,2,1,2p16]")
        text = text.replace("x1=any", "x1=[1,0,1p16]")
        if name == "attend":
            kernel = morello.compile(text, time_limit=0.01)
        else:
            kernel = unsearched(text)
        libraries.append(kernel.library(name))
    assert sum(len(library.packable) for library in libraries) == 4
    assert RIGHT.fullmatch(build("block.cpp", Bundle.of(libraries), tmp_path))


@NEEDS_CXX
def test_the_example_is_a_linear_layer(tmp_path: Path) -> None:
    (text,) = specs("linear.cpp").values()
    assert RIGHT.fullmatch(
        build("linear.cpp", unsearched(text).library("linear"), tmp_path)
    )


@pytest.mark.sampled(2)
@NEEDS_CXX
def test_the_linear_layer_does_for_other_sizes(tmp_path: Path) -> None:
    graph = "t[m,n]=sum(a[m,k]*b[n,k]);y[m,n]=t*s[n]+c[n]"
    forms = "x0=ld70:x1=ld72:v1=ld40"
    spec = f"compose:3x17x64:bf16,bf16,f32,f32,bf16:graph={graph}:{forms}"
    library = unsearched(spec).library("linear")
    for suffix in (".o", ".h"):
        library.save(tmp_path / f"linear{suffix}")
    flags = ("-O2", "-std=c++17", "-I", tmp_path, "-I", EXAMPLES, "-pthread")
    program = tmp_path / "linear"
    files = (EXAMPLES / "linear.cpp", tmp_path / "linear.o")
    run("c++", *flags, "-o", program, *files)
    assert run(program).startswith("right; 1 threads")
    wrong = (
        (EXAMPLES / "linear.cpp").read_text().replace("sum * scale", "sum * scale * 2")
    )
    (tmp_path / "wrong.cpp").write_text(wrong)
    run("c++", *flags, "-o", program, tmp_path / "wrong.cpp", tmp_path / "linear.o")
    with pytest.raises(AssertionError, match="wrong: row 0, column 0"):
        run(program)


def test_save_writes_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "all.h"
    words = ["save", "fill:5", "--name", "five", "-o", str(out)]
    assert main([*words, "--also", "six=fill:6", "--also", "seven=fill:7"]) == 0
    text = out.read_text()
    assert all(f"int {name}_supported(void);" in text for name in ("five", "six"))
    assert main([*words, "--also", "five=fill:6"]) == 2
    assert "two kernels have the name 'five'" in capsys.readouterr().err
    assert main([*words, "--also", "if=fill:6"]) == 2
    assert "argument --also: 'if' means something else" in capsys.readouterr().err

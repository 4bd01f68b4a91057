"""Objects, assembly and LLVM IR of kernels, linked and called."""

import dataclasses
from pathlib import Path
from typing import Any

import llvmlite.binding as lb
import numpy as np
import pytest

from morello.aot.c_names import c_identifiers
from morello.aot.entry_points import Status
from morello.aot.library import SUFFIXES, Library
from morello.compiler.kernel import Kernel
from morello.errors import CompileError, FileError
from morello.runtime.object_file import undefined_symbols
from morello.spec import Kind
from morello.spec.checking import is_exact
from morello.spec.kinds import instances
from tests.aot.compiler import NEEDS_CC, Linked
from tests.quality.compiled import arguments, same_bytes, unsearched
from tests.quality.specs import small_spec
from tests.runtime.test_engine import missing_feature

SPECS = (
    "matmul:17x23x31:f32:lhs=[0,1,2,1p6]",
    "matmul:2x5x3x7:s32",
    "matmul_accum:9x33x20:s32",
    "max:33x65:f32",
    "move:20x33:f32:dst=[1,0]",
    "fill:9x17:s16:value=lowest",
    "matmul:5x9x17:f32:lhs=ld12:out=ld40",
)
"""Of random programs; some have a workspace."""


def test_some_kernels_have_a_workspace() -> None:
    sizes = [unsearched(text).workspace_bytes for text in SPECS]
    assert min(sizes) == 0 < max(sizes)


@pytest.mark.sampled(5)
@NEEDS_CC
@pytest.mark.parametrize("file", [".o", ".s"])
@pytest.mark.parametrize("text", SPECS)
def test_a_linked_kernel_computes_its_spec(
    text: str, file: str, tmp_path: Path
) -> None:
    check_linked(unsearched(text), tmp_path, file)


@pytest.mark.sampled(12)
@NEEDS_CC
@pytest.mark.parametrize("kind", instances(), ids=str)
def test_a_linked_kernel_of_every_kind_computes_its_spec(
    kind: Kind, tmp_path: Path
) -> None:
    check_linked(unsearched(small_spec(kind)), tmp_path, ".o")


def check_linked(kernel: Kernel, folder: Path, file: str) -> None:
    """Link a kernel; call its checked and its unchecked function."""
    linked = Linked(kernel.library("k"), folder, suffix=file)
    assert linked.supported() == 1
    for seed, suffix in enumerate(["", "_unchecked"]):
        arrays, expected = arguments(kernel, seed)
        status = linked.raw(*linked.pointers(*arrays), suffix=suffix)
        assert suffix or status == Status.OK
        if is_exact(kernel.spec.kind, kernel.spec.sizes):
            assert same_bytes(arrays, expected)
        for array, wanted in zip(arrays, expected, strict=True):
            assert np.allclose(array, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_the_llvm_ir_can_be_read() -> None:
    module = lb.parse_assembly(unsearched(SPECS[0]).library("k").llvm)
    module.verify()
    names = {f.name for f in module.functions if not f.is_declaration}
    assert names == {"k", "k_supported", "k_unchecked", "k_pack_lhs"}


@pytest.mark.parametrize("text", SPECS)
def test_an_object_needs_nothing_but_c(text: str) -> None:
    needed = undefined_symbols(unsearched(text).library("k").object)
    assert set(needed) <= {"memcpy", "memset", "memmove"}


def test_the_same_kernel_gives_the_same_files() -> None:
    kernel = unsearched(SPECS[0])
    for suffix in SUFFIXES:
        one, other = (kernel.library("k").content(f"x{suffix}") for _ in range(2))
        assert one == other


def refused(linked: Linked, pointers: list[int], output: Any) -> int:
    """The status of a refused call, after which the output is unchanged."""
    before = output.copy()
    status = linked.raw(*pointers)
    assert output.tobytes() == before.tobytes()
    return status


@NEEDS_CC
@pytest.mark.parametrize("text", SPECS)
def test_wrong_pointers_are_refused(text: str, tmp_path: Path) -> None:
    kernel = unsearched(text)
    linked = Linked(kernel.library("k"), tmp_path)
    arrays, _ = arguments(kernel, 0)
    good = linked.pointers(*arrays)
    for index in range(len(good)):
        pointers = good.copy()
        pointers[index] = 0
        assert refused(linked, pointers, arrays[-1]) == Status.NULL
        is_array = index < len(arrays)
        if not is_array or arrays[index].itemsize > 1:
            pointers[index] = good[index] + 1
            assert refused(linked, pointers, arrays[-1]) == Status.MISALIGNED
        if is_array and index < len(arrays) - 1:
            for shift in (0, arrays[index].nbytes - 4, 4 - arrays[-1].nbytes):
                pointers = good.copy()
                pointers[len(arrays) - 1] = good[index] + shift
                assert refused(linked, pointers, arrays[index]) == Status.OVERLAP
    if linked.workspace_bytes:
        whole = np.zeros(arrays[-1].nbytes + linked.workspace_bytes + 64, np.uint8)
        start = int(whole.ctypes.data)
        pointers = [*good[:-2], start + -start % 64, start + -start % 64]
        assert refused(linked, pointers, whole) == Status.OVERLAP


@NEEDS_CC
def test_blocks_of_one_matrix_are_taken(tmp_path: Path) -> None:
    """Rows may lie in the gaps of other rows, but not share bytes with them."""
    kernel = unsearched("matmul:16x8x8:f32:lhs=ld24:rhs=ld24:out=ld24")
    linked = Linked(kernel.library("k"), tmp_path)
    whole = np.random.default_rng(0).integers(-4, 4, (33, 24)).astype(np.float32)
    start = int(whole.ctypes.data)

    def status(*places: tuple[int, int]) -> int:
        pointers = [start + 4 * (24 * row + column) for row, column in places]
        room = [linked.workspace] if linked.workspace_bytes else []
        return int(linked.raw(*pointers, *room))

    want = whole.copy()
    want[3:19, 16:] = want[:16, :8] @ want[9:17, 8:16]
    assert status((0, 0), (9, 8), (3, 16)) == Status.OK
    assert whole.tobytes() == want.tobytes()
    # Above, in the same rows, below; and over the end of a row.
    for place in ((3, 15), (3, 1), (0, 7), (15, 0), (8, 9), (1, 17), (2, 23)):
        assert status((0, 0), (9, 8), place) == Status.OVERLAP
        assert whole.tobytes() == want.tobytes()
    assert status((0, 0), (0, 0), (16, 0)) == Status.OK


@NEEDS_CC
def test_rows_that_no_memory_holds_are_refused(tmp_path: Path) -> None:
    """Too short, and so far apart that their bytes do not fit 64 bits."""
    kernel = unsearched("matmul:16x8x8:f32:lhs=ld?")
    linked = Linked(kernel.library("k"), tmp_path)
    arrays, _ = arguments(kernel, 0)
    good = linked.pointers(*arrays)
    for row in (7, 0, -1, 5 - 2**62, -(2**63), 2**57, 2**60, 2**62 + 8, 2**63 - 1):
        assert refused(linked, [*good, row], arrays[-1]) == Status.SHORT_ROW
    assert linked.raw(*good, 8) == Status.OK


@NEEDS_CC
def test_neighbours_are_taken(tmp_path: Path) -> None:
    linked = Linked(unsearched("move:20x33:f32:dst=[1,0]").library("k"), tmp_path)
    memory = np.arange(3 * 660, dtype=np.float32)
    start, size = int(memory.ctypes.data), 660 * 4
    for source, target in ((0, 1), (1, 0), (1, 2)):
        pointers = [start + source * size, start + target * size]
        if linked.workspace_bytes:
            pointers.append(linked.workspace)
        assert linked.raw(*pointers) == Status.OK


@NEEDS_CC
def test_a_cpu_that_lacks_a_feature_gets_an_error(tmp_path: Path) -> None:
    library = unsearched("fill:9x17:s16:value=lowest").library("k")
    lacking = min({"avx512fp16", "avxifma", "avxvnniint8"} - HERE)
    target = dataclasses.replace(
        library.stages.target, features=(*library.stages.target.features, lacking)
    )
    stages = dataclasses.replace(library.stages, target=target)
    linked = Linked(dataclasses.replace(library, stages=stages), tmp_path)
    assert linked.supported() == 0
    output = np.zeros((9, 17), np.int16)
    assert refused(linked, linked.pointers(output), output) == Status.UNSUPPORTED
    assert linked.supported() == 0


HERE = frozenset(name for name, has in lb.get_host_cpu_features().items() if has)


def test_a_feature_without_a_test_is_refused() -> None:
    library = unsearched(SPECS[0]).library("k")
    target = dataclasses.replace(library.stages.target, features=(missing_feature(),))
    stages = dataclasses.replace(library.stages, target=target)
    with pytest.raises(CompileError, match="no test at run time is known for"):
        _ = dataclasses.replace(library, stages=stages).object


TAKEN = (
    *("malloc", "free", "memcpy", "read", "open", "environ", "abs", "sin", "j0"),
    *("NULL", "EOF", "linux", "std", "end", "INT8_MAX", "UINT64_C", "SIZE_MAX"),
    *("omp_get_thread_num", "kmp_malloc", "sched_getcpu", "morello_leave_processor"),
)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "'' is not an identifier of C"),
        ("2mm", "not an identifier"),
        ("a-b", "not an identifier"),
        ("_mm", "not an identifier"),
        ("mm\n", "not an identifier"),
        ("µ", "not an identifier"),
        ("while", "means something else in C or C"),
        ("class", "means something else"),
        ("main", "means something else"),
        ("a__b", "has __, which"),
        *(
            (name, "is a name of the C library, the compiler or OpenMP")
            for name in TAKEN
        ),
        *((f"a{e}", f"ends in {e}, as names do") for e in ("_t", "_malloc", "_H")),
        ("a" * 201, "a name of 201 characters is too long; give at most 200"),
    ],
)
def test_names_that_c_does_not_have(name: str, reason: str) -> None:
    with pytest.raises(CompileError, match=reason):
        unsearched(SPECS[0]).library(name)


@pytest.mark.parametrize("text", SPECS)
def test_every_kernel_has_a_name_by_itself(text: str) -> None:
    kernel = unsearched(text)
    assert kernel.library().name == kernel._stages.name


def test_a_name_may_be_that_of_the_spec_or_its_beginning() -> None:
    kernel = unsearched("fill:9x17:s16:value=lowest")
    for name in ("fill_9x17_s16_value_lowest", "fill", "f", "o", "Malloc", "top_k"):
        functions = kernel.library(name)._compiled.functions
        assert sorted(functions) == [name, f"{name}_supported", f"{name}_unchecked"]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("k", "cannot save '.*k': it has no suffix; end it in .o .object., .s"),
        ("k.obj", "it has the suffix '.obj'; end it in"),
        ("k.O", "it has the suffix '.O'"),
        ("k.so", "it has the suffix '.so'"),
    ],
)
def test_files_that_cannot_be(file: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=reason):
        unsearched(SPECS[0]).save(tmp_path / file)
    assert list(tmp_path.iterdir()) == []


def test_save_writes_what_the_library_holds(tmp_path: Path) -> None:
    kernel = unsearched(SPECS[0])
    for suffix in SUFFIXES:
        kernel.save(tmp_path / f"k{suffix}", name="mm")
        saved = (tmp_path / f"k{suffix}").read_bytes()
        assert saved == kernel.library("mm").content(f"k{suffix}")
    with pytest.raises(FileError, match=r"cannot save .*nowhere.*k\.o"):
        kernel.save(tmp_path / "nowhere" / "k.o")


def test_a_library_is_a_value() -> None:
    kernel, other = unsearched(SPECS[0]), unsearched(SPECS[1])
    library = kernel.library("k")
    assert isinstance(library, Library)
    assert library == kernel.library("k")
    assert library != kernel.library("l")
    assert library != other.library("k")


def test_names_of_arguments_become_identifiers_of_c() -> None:
    names = ["x", "X", "input.1", "input_1", "/conv/out:0", "0", "float", "status"]
    identifiers = c_identifiers(names)
    assert identifiers == [
        "x",
        "X_2",
        "input_1",
        "input_1_2",
        "conv_out_0",
        "value_0",
        "float_2",
        "status_2",
    ]


def test_no_two_identifiers_differ_in_case_alone() -> None:
    names = ["X", "x", "Input.1", "input_1", "INPUT_1", "Status", "Float"]
    identifiers = c_identifiers(names)
    assert identifiers == [
        "X",
        "x_2",
        "Input_1",
        "input_1_2",
        "INPUT_1_3",
        "Status_2",
        "Float",
    ]
    assert len({name.lower() for name in identifiers}) == len(names)

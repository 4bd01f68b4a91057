"""Products in tiles: on emulated ones, and on those of the CPU where it has some."""

import functools
import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest

from morello.kernels import KERNELS
from morello.kernels.gemm.tile_dot import TileDot
from morello.kernels.template import Kernel
from morello.machine.isa import AVX512_AMX, Op
from morello.mlir import ir
from morello.runtime.engine import Engine, compile_object
from morello.runtime.translate import lower_to_llvm_text
from morello.spec import Matmul, Spec
from morello.spec.kind import Array
from tests.guarded import check_in_child
from tests.kernels.harness import (
    Case,
    build,
    check_random,
    compiled,
    features_text,
    legal,
    run,
    skip_where_it_cannot_run,
    spec,
)
from tests.kernels.tiles import TILES, check_emulated, dot_bf16, emulated

NAMES = tuple(n for n, k in KERNELS.items() if isinstance(k, TileDot))

BF16 = "tile_dot2_bf16_amx"

EDGES = (1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 77)


def kernel(name: str) -> TileDot:
    row: Kernel = KERNELS[name]
    assert isinstance(row, TileDot)
    return row


def product(
    name: str,
    sizes: tuple[int, int, int],
    accum: bool = False,
    levels: tuple[str, str, str] = ("L1", "L2", "L1"),
) -> Case:
    """``sizes`` are m, n and groups along k."""
    lhs, rhs, out = kernel(name).dtypes
    group = 4 // lhs.itemsize
    m, n, groups = sizes
    forms = (
        f"{lhs}@{levels[0]}[0,1,2]",
        f"{rhs}@{levels[1]}[0,2,1,2p32,1p{group}]",
        f"{out}@{levels[2]}[0,1,2]",
    )
    kind = Matmul(accum, False, out.is_float)
    return Case(name, spec(kind, (1, m, groups * group, n), *forms))


def cases_of(name: str) -> list[Case]:
    """Every edge of m, n and k, and all of them at once; in every cache."""
    sizes = [(m, 33, 17) for m in EDGES]
    sizes += [(17, n, 16) for n in EDGES]
    sizes += [(18, 19, k) for k in (1, 2, 15, 16, 17, 31, 32, 33, 48)]
    sizes += [(77, 77, 35), (64, 64, 32), (1, 1, 1)]
    cases = [product(name, s, accum=bool(i % 2)) for i, s in enumerate(sizes)]
    levels = itertools.product(("L1", "L2"), repeat=3)
    cases += [product(name, (33, 35, 18), levels=level) for level in levels]
    assert all(legal(case.kernel, case.spec) for case in cases)
    return cases


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_exact_at_every_edge_size_on_emulated_tiles(name: str) -> None:
    check_emulated(cases_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_exact_on_the_tiles_of_this_cpu(name: str) -> None:
    check_random(cases_of(name))


Compiler = Callable[[list[Case]], Engine]


@pytest.fixture(params=["emulated", "own"])
def compiler(request: pytest.FixtureRequest) -> Compiler:
    """Compiles cases for emulated tiles, and for those of this CPU."""
    if request.param == "emulated":
        return functools.partial(emulated, opt=3)
    skip_where_it_cannot_run(AVX512_AMX)
    return compiled


def outputs(compiler: Compiler, case: Case, inputs: list[list[Array]]) -> list[Array]:
    """The rows of the output of a case for each of several inputs."""
    engine = compiler([case])

    def call() -> list[bytes]:
        every = [run(case, engine.address("f0"), i, "end")[0] for i in inputs]
        assert not TILES.faults, TILES.faults
        return [out.tobytes() for out in every]

    _, m, _, n = case.spec.sizes
    out = kernel(case.kernel).dtypes[2].numpy
    return [np.frombuffer(d, out).reshape(m, n) for d in check_in_child(call)]


@pytest.mark.parametrize("accum", [False, True])
def test_bf16_is_added_up_in_the_order_that_intel_documents(
    compiler: Compiler, accum: bool
) -> None:
    """Bit for bit: numbers whose sums round, denormals, infinities and NaN."""
    case = product(BF16, (19, 37, 41), accum)
    _, m, k, n = case.spec.sizes
    rng = np.random.default_rng(1)
    bf16, f32 = (kernel(BF16).dtypes[i].numpy for i in (0, 2))
    lhs, rhs = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    lhs[1], rhs[:, 1] = 2.0**-64 * lhs[1], 2.0**-66 * rhs[:, 1]
    lhs[2] *= 2.0**-130
    lhs[3, ::3], lhs[4, 5], rhs[7, 6] = 3e38, np.nan, np.inf
    out = rng.standard_normal((m, n))
    out[2], out[5] = 0, 2.0**-130 * out[5]
    arrays = [lhs.astype(bf16)[None], rhs.astype(bf16)[None], out.astype(f32)[None]]
    (result,) = outputs(compiler, case, [arrays[: 2 + accum]])
    wanted = arrays[2][0] if accum else np.zeros((m, n), f32)
    left, right = (x[0].astype(f32) for x in arrays[:2])
    for at in range(0, k, 32):
        wanted = dot_bf16(wanted, left[:, at : at + 32], right[at : at + 32])
    nan = np.isnan(wanted)
    assert np.array_equal(np.isnan(result), nan)
    assert np.array_equal(result[~nan].view(np.uint32), wanted[~nan].view(np.uint32))
    assert 0 < nan.sum() < nan.size
    assert np.isinf(wanted).any()
    assert (wanted == 0).any()


def test_the_order_of_sums_is_not_that_of_k() -> None:
    """2^24 + 1 - 2^24 by even and odd k: what the manual's order gives, by hand."""
    lhs, one = np.array([[2.0**24, 1, -(2.0**24), 1]]), np.ones((4, 1))
    total = np.array([[0.5]])
    sums = dot_bf16(*(x.astype(np.float32) for x in (total, lhs, one)))
    assert sums == [[2.5]]
    lhs = np.array([[2.0**24, 0, 1, 0, -(2.0**24), 0]])
    sums = dot_bf16(*(x.astype(np.float32) for x in (total, lhs, np.ones((6, 1)))))
    assert sums == [[0.5]]
    tiny = np.full((1, 32), 2.0**-64, np.float32)
    assert dot_bf16(np.zeros((1, 1), np.float32), tiny, tiny.T) == [[0]]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {BF16}))
def test_sums_of_bytes_wrap(compiler: Compiler, name: str) -> None:
    """The greatest products of all k, added to numbers at either end."""
    case = product(name, (2, 3, 40), accum=True)
    _, m, k, n = case.spec.sizes
    lhs, rhs, out = (dtype.numpy for dtype in kernel(name).dtypes)
    ends = np.iinfo(out)
    sums = np.array([[[ends.max] * n, [ends.min] * n]], out)
    factors = [
        (getattr(np.iinfo(lhs), left), getattr(np.iinfo(rhs), right))
        for left, right in itertools.product(("min", "max"), repeat=2)
    ]
    inputs = [
        [np.full((1, m, k), a, lhs), np.full((1, k, n), b, rhs), sums]
        for a, b in factors
    ]
    for result, (a, b) in zip(outputs(compiler, case, inputs), factors, strict=True):
        wanted = (sums[0].astype(np.int64) + k * int(a) * int(b)).astype(np.int32)
        assert np.array_equal(result, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_llvm_writes_the_instructions(name: str) -> None:
    """Bytes of the object, by Intel's manual: VEX.128, a map, an opcode."""
    case = product(name, (16, 16, 16))
    with ir.Context(), ir.Location.unknown():
        text = lower_to_llvm_text(build([case]))
    isa = AVX512_AMX
    code = compile_object(text, cpu=isa.cpu, features=features_text(isa)).object
    # VEX.pp of TDPBUUD, TDPBF16PS and TDPBUSD, TDPBSUD, TDPBSSD are 0 to 3; their
    # opcodes in map 2 are 5E, and 5C of bf16. The sums are in tile 0, lhs in 4 and rhs
    # in 6.
    prefix = {
        Op.TILE_DOT_U8U8: 0,
        Op.TILE_DOT_U8S8: 1,
        Op.TILE_DOT_S8U8: 2,
        Op.TILE_DOT_BF16: 2,
        Op.TILE_DOT_S8S8: 3,
    }[kernel(name).instruction]
    opcode = 0x5C if name == BF16 else 0x5E
    vvvv = ~6 & 0xF
    dot = bytes((0xC4, 0xE2, vvvv << 3 | prefix, opcode, 0xC0 | 4))
    assert dot in code
    assert bytes((0xC4, 0xE2, 0x78, 0x49)) in code  # LDTILECFG
    assert bytes((0xC4, 0xE2, 0x7B, 0x4B)) in code  # TILELOADD
    assert bytes((0xC4, 0xE2, 0x7B, 0x49, 0xC0)) in code  # TILEZERO of tile 0


@pytest.mark.parametrize("name", NAMES)
def test_llvm_takes_no_tile_that_is_not_configured(name: str) -> None:
    """An edge of 13 rows has one tile of lhs and two of rhs, and long straight code."""
    case = product(name, (13, 64, 128), levels=("L1", "L1", "L1"))
    with ir.Context(), ir.Location.unknown():
        text = lower_to_llvm_text(build([case]))
    isa = AVX512_AMX
    code = compile_object(text, cpu=isa.cpu, features=features_text(isa)).assembly()
    assert code.count("tileload") > 3 * 8
    assert set(re.findall("%tmm([0-7])", code)) == set("01467")


def test_odd_k_is_left_to_others() -> None:
    """Elements that follow in a row of lhs are not its own."""
    for name in NAMES:
        even = product(name, (4, 4, 4)).spec
        for k in range(1, 9):
            group = 4 // even.dtypes[0].itemsize
            other = Spec(even.kind, (1, 4, k, 4), even.tensors, even.limits)
            assert legal(name, other) == (k % group == 0)

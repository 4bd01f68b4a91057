"""Tiles as Intel's manual describes them, for machines without AMX.

`emulated` compiles kernels for any x86-64 CPU: calls of instructions on tiles become
calls of `TILES`, which has eight of them and refuses what a CPU would. Memory is read
and written row by row and no further, so that guard pages and canaries tell of it.
"""

import ctypes
import functools
import re
from collections.abc import Callable, Iterable, Sequence

import llvmlite.binding as lb
import ml_dtypes
import numpy as np
import numpy.typing as npt

from morello.machine.isa import AVX2, AVX512_AMX, Op
from morello.mlir import ir
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text
from tests.guarded import check_in_child
from tests.kernels.harness import Case, build, check, features_text

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

COUNT, ROWS, ROW_BYTES, WORD = 8, 16, 64, 4

_LEAST = np.float32(2.0**-126)


def flushed(x: Floats) -> Floats:
    """Denormals as zeros of their sign."""
    return np.where(np.abs(x) < _LEAST, np.copysign(np.float32(0), x), x)


def dot_bf16(total: Floats, lhs: Floats, rhs: Floats) -> Floats:
    """TDPBF16PS on whole matrices of bf16 as f32, of up to 32 of k.

    Products with even k are added up from +0 in turn, those with odd k likewise; then
    both sums; then that to what there was. Each step is rounded to nearest even, and
    denormals are zero before and after it.
    """
    lhs, rhs, total = map(flushed, (lhs, rhs, total))
    sums = [np.zeros(total.shape, np.float32) for _ in range(2)]
    with np.errstate(all="ignore"):
        for k in range(lhs.shape[1]):
            # Exact in f64, and what is added to it has no more than 24 bits: rounding
            # twice is rounding once.
            product = np.multiply.outer(lhs[:, k].astype(float), rhs[k].astype(float))
            sums[k % 2] = flushed((sums[k % 2] + product).astype(np.float32))
        return flushed(total + flushed(sums[0] + sums[1]))


class Tiles:
    """The tiles of a thread, and what went wrong with them."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.configured = 0
        self.release()

    def _fault(self, condition: bool, what: str) -> None:
        if condition:
            raise ValueError(what)

    def release(self) -> None:
        self.shapes: list[tuple[int, int]] = [(0, 0)] * COUNT
        self.data = np.zeros((COUNT, ROWS, ROW_BYTES), np.uint8)

    def configure(self, address: int) -> None:
        data = ctypes.string_at(address, 64)
        self._fault(data[0] != 1, "a palette that there is not")
        reserved = (data[1:16], data[32:48], data[56:64])
        self._fault(any(map(any, reserved)), "bytes that have to be zero")
        self.release()
        widths = np.frombuffer(data[16:32], np.uint16).tolist()
        for tile, (rows, width) in enumerate(zip(data[48:56], widths, strict=True)):
            self._fault(rows > ROWS or width > ROW_BYTES, "a tile that is too large")
            self._fault((rows == 0) != (width == 0), "a tile without rows or bytes")
            self.shapes[tile] = rows, width
        self.configured += 1

    def zero(self, tile: int) -> None:
        self._fault(self.shapes[tile] == (0, 0), "a tile that is not configured")
        self.data[tile] = 0

    def load(self, tile: int, address: int, stride: int) -> None:
        self.zero(tile)
        rows, width = self.shapes[tile]
        for row in range(rows):
            line = ctypes.string_at(address + row * stride, width)
            self.data[tile, row, :width] = np.frombuffer(line, np.uint8)

    def store(self, tile: int, address: int, stride: int) -> None:
        rows, width = self.shapes[tile]
        self._fault(rows == 0, "a tile that is not configured")
        for row in range(rows):
            ctypes.memmove(
                address + row * stride, self.data[tile, row].tobytes(), width
            )

    def dot(self, op: Op, total: int, a: int, b: int) -> None:
        self._fault(len({total, a, b}) < 3, "a tile that is used twice")
        (rows, out), (lhs_rows, lhs), (groups, rhs) = (
            self.shapes[tile] for tile in (total, a, b)
        )
        self._fault(
            rows == 0 or rows != lhs_rows or out != rhs, "other rows or columns"
        )
        self._fault(lhs != WORD * groups or lhs % WORD or out % WORD, "other groups")
        kinds = {
            Op.TILE_DOT_BF16: (ml_dtypes.bfloat16, ml_dtypes.bfloat16, np.float32),
            Op.TILE_DOT_U8S8: (np.uint8, np.int8, np.int32),
            Op.TILE_DOT_S8S8: (np.int8, np.int8, np.int32),
            Op.TILE_DOT_U8U8: (np.uint8, np.uint8, np.int32),
            Op.TILE_DOT_S8U8: (np.int8, np.uint8, np.int32),
        }
        left, right, kind = kinds[op]
        factor = self.data[a, :rows, :lhs].copy().view(left)
        columns = self.data[b, :groups, :rhs].copy().view(right)
        group = WORD // columns.itemsize
        columns = columns.reshape(groups, out // WORD, group).swapaxes(1, 2)
        columns = columns.reshape(groups * group, out // WORD)
        held = self.data[total, :rows, :out].copy().view(kind)
        if op is Op.TILE_DOT_BF16:
            sums = dot_bf16(held, *(x.astype(np.float32) for x in (factor, columns)))
        else:
            wide = factor.astype(np.int64) @ columns.astype(np.int64)
            sums = (wide + held).astype(np.int32)  # modulo 2^32
        self.data[total, :rows, :out] = np.ascontiguousarray(sums).view(np.uint8)


TILES = Tiles()

_KEPT: list[object] = []
"""Addresses that code calls."""


@functools.cache
def _names() -> dict[str, str]:
    """The functions of `TILES` that stand in for instructions."""
    byte, word, address = ctypes.c_int8, ctypes.c_int64, ctypes.c_void_p
    dots = [op for op in AVX512_AMX.instructions if op.value.startswith("tile_dot_")]
    functions: dict[Op, tuple[Callable[..., None], tuple[type, ...]]] = {
        Op.TILE_CONFIGURE: (TILES.configure, (address,)),
        Op.TILE_RELEASE: (TILES.release, ()),
        Op.TILE_ZERO: (TILES.zero, (byte,)),
        Op.TILE_LOAD: (TILES.load, (byte, address, word)),
        Op.TILE_STORE: (TILES.store, (byte, address, word)),
        **{op: (functools.partial(TILES.dot, op), (byte,) * 3) for op in dots},
    }
    names = {}
    for op, (function, kinds) in functions.items():

        def safely(*values: int, function: Callable[..., None] = function) -> None:
            try:
                function(*values)
            except ValueError as error:
                TILES.faults.append(str(error))

        callback = ctypes.CFUNCTYPE(None, *kinds)(safely)
        _KEPT.append(callback)
        name = f"emulated_{op.value}"
        lb.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)
        names[AVX512_AMX.instructions[op]] = name
    return names


def with_emulated_tiles(llvm: str) -> str:
    """LLVM IR whose instructions on tiles are calls of `TILES`."""
    names = _names()
    text = re.sub(
        r"@(llvm\.x86\.t\w+|llvm\.x86\.ldtilecfg)\b", lambda m: f"@{names[m[1]]}", llvm
    )
    return text.replace("immarg ", "").replace(" immarg", "")


def emulated(cases: Sequence[Case], opt: int) -> Engine:
    """The functions of `harness.compiled`, for any CPU."""
    with ir.Context(), ir.Location.unknown():
        text = lower_to_llvm_text(build(cases))
    return compile_llvm(
        with_emulated_tiles(text), cpu=AVX2.cpu, features=features_text(AVX2), opt=opt
    )


def check_emulated(cases: Iterable[Case], opt: int = 0) -> None:
    """Every case on tiles that are emulated, in memory next to forbidden pages."""
    cases = list(cases)
    assert cases
    engine = emulated(cases, opt)

    def everything() -> int:
        rng = np.random.default_rng(0)
        for i, case in enumerate(cases):
            check(case, engine.address(f"f{i}"), case.spec.random(rng))
            assert not TILES.faults, (case, TILES.faults)
        return len(cases)

    assert check_in_child(everything) == len(cases)

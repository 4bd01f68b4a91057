"""Whether all elements are of a dtype, wherever the one is that is not."""

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from morello.kernels.code.range_check import range_check_counts
from morello.machine import AVX2
from morello.mlir import dialect, ir
from morello.passes.parts.emission import emit_range_check
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text
from morello.spec import MEM, Dtype, Encoding, Layout, TensorSpec
from tests.guarded import check_in_child, guarded_array

SIZES = (1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 257, 300)
"""Of a row: whole groups of vectors, some vectors more, the end of a vector."""

GAP = 5
"""Elements between rows."""


def compiled(shapes: Sequence[tuple[int, int, int]], layout: str) -> Engine:
    """Functions ``f<i>(source, inside)``, of an operand with gaps between its rows."""
    tensor = TensorSpec(Dtype.S8, MEM, Layout.parse(layout))
    with ir.Context(), ir.Location.unknown():
        byte = ir.IntegerType.get_signless(8)
        module = ir.Module.create()
        for i, sizes in enumerate(shapes):
            _, rows, row = (sizes[d.dim] for d in tensor.layout.dims)
            strides = [rows * (row + GAP), row + GAP, 1]
            form = ir.StridedLayoutAttr.get(0, strides)
            source = ir.MemRefType.get([sizes[0], rows, row], byte, form)
            kinds = [source, ir.MemRefType.get([1], byte)]
            with ir.InsertionPoint(module.body):
                function = dialect("func").FuncOp(f"f{i}", (kinds, []))
                entry = function.add_entry_block()
            with ir.InsertionPoint(entry):
                end = dialect("func").ReturnOp([]).operation
            operand, to = entry.arguments
            inside = emit_range_check(
                operand, tensor, sizes, Encoding.S7, AVX2.isa, end
            )
            with ir.InsertionPoint(end):
                number = dialect("arith").ExtUIOp(byte, inside).result
                zero = dialect("arith").ConstantOp(ir.IndexType.get(), 0).result
                dialect("memref").StoreOp(number, to, [zero])
        text = lower_to_llvm_text(module)
    return compile_llvm(text, cpu="haswell")


@pytest.mark.parametrize("layout", ["[0,1,2]", "[0,2,1]"])
def test_one_element_out_of_bounds_is_found_anywhere(layout: str) -> None:
    order = Layout.parse(layout).dims
    shapes = []
    for batch, rows, row in [(2, 3, 40), *((1, 3, row) for row in SIZES)]:
        lengths = dict(zip((d.dim for d in order), (batch, rows, row), strict=True))
        shapes.append((lengths[0], lengths[1], lengths[2]))
    engine = compiled(shapes, layout)

    def answer(i: int, values: np.ndarray) -> int:  # type: ignore[type-arg]
        status = np.full(1, 7, np.uint8)
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(engine.address(f"f{i}"))
        call(values.ctypes.data, status.ctypes.data)
        return int(status[0])

    def everything() -> int:
        rng = np.random.default_rng(0)
        count = 0
        for i, sizes in enumerate(shapes):
            batch, rows, row = (sizes[d.dim] for d in order)
            plain = rng.integers(-64, 64, (batch * rows, row), np.int8)
            plain.flat[0], plain.flat[-1] = -64, 63
            for side in ("start", "end"):
                values = guarded_array(plain, side, False, GAP)  # type: ignore[arg-type]
                assert answer(i, values) == 1
            places = [*range(0, plain.size, 7), plain.size - 1]
            for place in places:
                for number in (-128, -65, 64, 127):
                    one = plain.copy()
                    one.flat[place] = number
                    values = guarded_array(one, "end", False, GAP)
                    assert answer(i, values) == 0, (sizes, place, number)
                    count += 1
        return count

    assert check_in_child(everything) > 2500


def test_a_look_counts_its_vectors() -> None:
    rows = TensorSpec(Dtype.S8, MEM, Layout.row_major(3))
    columns = TensorSpec(Dtype.S8, MEM, Layout.parse("[0,2,1]"))
    look, _ = range_check_counts(rows, (1, 64, 64), AVX2.isa).phases
    assert look.ops == {"load": 64 * 2, "vector_op": 64 * 4}
    assert range_check_counts(rows, (1, 4, 256), AVX2.isa).trips == 8
    assert range_check_counts(columns, (1, 4, 256), AVX2.isa).trips == 512

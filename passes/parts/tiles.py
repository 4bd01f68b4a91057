"""The part of the emitter that computes in tiles, which are named by number."""

import struct
from abc import abstractmethod
from collections.abc import Iterable

from morello.kernels.emitter import Buffer, Index, Value
from morello.machine.isa import AVX512_AMX, Op
from morello.mlir import dialect, ir
from morello.passes.parts.descriptors import ALIGNED, OFFSET, STRIDES, field_of
from morello.passes.parts.float_control import thread_body
from morello.passes.parts.registers import Registers
from morello.passes.parts.vector_ops import run, splat

arith = dialect("arith")
memref = dialect("memref")
vector = dialect("vector")

_CONFIGURATION = 64
"""Bytes of a configuration. Intel's manual, LDTILECFG: byte 0 is the palette, from 16
on are the bytes in a row of each tile in 16 bits, from 48 on its rows in 8."""

_PALETTE, _BYTES_IN_ROW, _ROWS = 1, 16, 48

_DYNAMIC_INDEX = -(2**31)
"""Index of ``llvm.getelementptr`` that is an operand."""


class Tiles(Registers):
    """Instructions on tiles, at the insertion point."""

    @abstractmethod
    def _physical(self, buffer: Buffer, index: Index) -> list[Value]:
        """The physical index, by the buffer's layout."""

    def configure_tiles(self, shapes: dict[int, tuple[int, int]]) -> None:
        """`Emitter.configure_tiles`: a store and an instruction."""
        data = bytearray(_CONFIGURATION)
        data[0] = _PALETTE
        for tile, (rows, row_bytes) in shapes.items():
            struct.pack_into("<H", data, _BYTES_IN_ROW + 2 * tile, row_bytes)
            data[_ROWS + tile] = rows
        byte = ir.IntegerType.get_signless(8)
        whole = ir.MemRefType.get([_CONFIGURATION], byte)
        held = memref.AllocOp(whole, [], []).result
        kind = ir.VectorType.get([_CONFIGURATION], byte)
        value = ir.DenseElementsAttr.get(memoryview(data), type=kind)
        start = arith.ConstantOp(ir.IndexType.get(), 0).result
        vector.StoreOp(arith.ConstantOp(kind, value).result, held, [start])
        self._run(Op.TILE_CONFIGURE, field_of(held, ALIGNED))

    def zero_tile(self, tile: int) -> None:
        """`Emitter.zero_tile`: one instruction."""
        self._run(Op.TILE_ZERO, _number(tile))

    def load_tile(self, tile: int, buffer: Buffer, index: Index, dim: int) -> None:
        """`Emitter.load_tile`: one instruction."""
        self._run(Op.TILE_LOAD, _number(tile), *self._rows(buffer, index, dim))

    def store_tile(self, tile: int, buffer: Buffer, index: Index, dim: int) -> None:
        """`Emitter.store_tile`: one instruction."""
        self._run(Op.TILE_STORE, _number(tile), *self._rows(buffer, index, dim))

    def dot_tiles(self, op: Op, total: int, a: int, b: int) -> None:
        """`Emitter.dot_tiles`: one instruction."""
        self._run(op, _number(total), _number(a), _number(b))

    def _run(self, op: Op, *operands: Value) -> None:
        run(self.isa.instructions[op], *operands)

    def _rows(self, buffer: Buffer, index: Index, dim: int) -> tuple[Value, Value]:
        """The address of an element, and the bytes from a row to the next."""
        word, size = ir.IntegerType.get_signless(64), buffer.tensor.dtype.itemsize
        place = field_of(buffer.value, OFFSET)
        for at, physical in enumerate(self._physical(buffer, index)):
            number = arith.IndexCastOp(word, physical).result
            stride = field_of(buffer.value, STRIDES, at)
            place = arith.AddIOp(place, arith.MulIOp(number, stride).result).result
        dims = [d.dim for d in buffer.tensor.layout.dims]
        row = field_of(buffer.value, STRIDES, dims.index(dim))
        bytes_before, row_bytes = (
            arith.MulIOp(count, splat(word, size)).result for count in (place, row)
        )
        address = ir.Operation.create(
            "llvm.getelementptr",
            [ir.Type.parse("!llvm.ptr")],
            [field_of(buffer.value, ALIGNED), bytes_before],
            {
                "rawConstantIndices": ir.DenseI32ArrayAttr.get([_DYNAMIC_INDEX]),
                "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
            },
        )
        return address.results[0], row_bytes


def _number(tile: int) -> Value:
    return splat(ir.IntegerType.get_signless(8), tile)


def release_tiles(ops: Iterable[ir.Operation]) -> None:
    """Release the tiles where functions and parallel loops end that hold these ops.

    Nobody needs that for a right result: a thread with tiles in use takes longer to
    switch, and its core does not sleep as deep.
    """
    for op in dict.fromkeys(map(thread_body, ops)):
        with (
            op.context,
            op.location,
            ir.InsertionPoint.at_block_terminator(op.regions[0].blocks[0]),
        ):
            run(AVX512_AMX.instructions[Op.TILE_RELEASE])

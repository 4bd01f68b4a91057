"""Kernels as functions of their own, run on guarded arrays and compared bit for bit.

Many Specs go into one module: compiling is what takes the time. An operand in registers
is an argument in memory that is loaded before and stored after.
"""

import ctypes
import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from morello.cost.of_target import cost_model
from morello.dialect.memrefs import tile_extent
from morello.kernels import KERNELS
from morello.kernels.template import Kernel
from morello.machine import Target
from morello.machine.architectures import HOST
from morello.machine.host import missing_features
from morello.machine.isa import Isa
from morello.machine.targets.avx2 import AVX2
from morello.mlir import dialect, ir
from morello.passes.parts.emission import emit_kernel
from morello.passes.parts.vector_ops import element_type
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text
from morello.spec import L1, VRF, Kind, Layout, Limits, Move, Spec, TensorSpec
from morello.spec.checking import is_exact, reference
from morello.spec.elements.casts import stored_error
from morello.spec.frame import Frame, Ints
from morello.spec.kind import Array
from morello.spec.tensors.layout import LINE_BYTES
from tests.guarded import check_canaries, check_in_child, guarded_array

EDGE = (*range(1, 18), 31, 32, 33, 63, 64, 65, 127, 128, 129)
TWIN = (1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 129)
"""The sizes of a kernel whose loops another test takes through all of `EDGE`: the same
with another op in them, as without accumulation or of another dtype of that width.
Also those of an axis beside further sizes of the others."""
SAMPLE = 8
"""Of so many cases one is compiled with LLVM's optimisations, too."""

PADDING = 3
FILLER = 0xA5


def isa_of(cases: Iterable["Case"]) -> Isa:
    """The one instruction set of some cases."""
    (isa,) = {KERNELS[case.kernel].isa for case in cases}
    return isa


def limits_of(name: str) -> Limits:
    """All registers of a kernel's instruction set, beside the caches of AVX2."""
    return AVX2.limits.replace(VRF, KERNELS[name].isa.registers)


def skip_where_it_cannot_run(isa: Isa) -> None:
    """Skip a test on a CPU that lacks instructions."""
    missing = missing_features(isa.cpu, features_text(isa))
    if missing:
        pytest.skip(f"this CPU lacks {', '.join(missing)}, which {isa.name} needs")
    withheld = HOST.withheld() & set(isa.features)
    if withheld:
        pytest.skip(f"the system withholds {', '.join(sorted(withheld))}")


def features_text(isa: Isa) -> str:
    return ",".join(f"+{feature}" for feature in isa.features)


def form(text: str) -> TensorSpec:
    return TensorSpec.parse(text)


def spec(
    kind: Kind, sizes: Sequence[int], *forms: str, limits: Limits = AVX2.limits
) -> Spec:
    return Spec(kind, tuple(sizes), tuple(map(form, forms)), limits)


def legal(name: str, spec: Spec) -> bool:
    kernel, frame = KERNELS[name], Frame.of(spec)
    return kernel.accepts(spec.key) and all(
        bool(c.holds) for c in kernel.conditions(frame)
    )


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel, and the Spec that it implements."""

    kernel: str
    spec: Spec

    @functools.cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """The operands as arguments: registers come from and go to rows in L1."""
        return tuple(
            dataclasses.replace(t, level=L1, vector_width=0) for t in self.spec.tensors
        )

    @functools.cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tile_shape(tensor.layout, self.spec.shape(operand))
            for operand, tensor in enumerate(self.tensors)
        )

    @functools.cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The shapes with what a row is as one dimension: the packs at the end are."""
        inner = [max(_packs_at_end(tensor.layout), 1) for tensor in self.tensors]
        return tuple(
            (*shape[:-count], math.prod(shape[-count:]))
            for shape, count in zip(self.shapes, inner, strict=True)
        )

    def gap(self, operand: int) -> int:
        """Elements between rows: none where the Spec says so."""
        return 0 if self.tensors[operand].contiguous else PADDING

    def memref(self, operand: int) -> ir.Type:
        """The tile in an array whose rows are longer by its gap."""
        shape = self.shapes[operand]
        inner = max(_packs_at_end(self.tensors[operand].layout), 1)
        strides = [1]
        for place, extent in enumerate(reversed(shape[1:]), 1):
            gap = self.gap(operand) if place == inner else 0
            strides.insert(0, strides[0] * extent + gap)
        layout = ir.StridedLayoutAttr.get(0, strides)
        element = element_type(self.tensors[operand].dtype)
        return ir.MemRefType.get(shape, element, layout)


def tile_shape(layout: Layout, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """A wider pack cut to the tile; an odd-even one is whole, or of one element."""
    return tuple(tile_extent(layout, place, sizes) for place in range(len(layout.dims)))


def _packs_at_end(layout: Layout) -> int:
    count = 0
    while layout.dims[-1 - count].pack:
        count += 1
    return count


def registers(tensor: TensorSpec, sizes: tuple[int, ...]) -> ir.Type:
    width = tensor.vector_width
    vector = ir.VectorType.get([width], element_type(tensor.dtype))
    return ir.MemRefType.get([*sizes[:-1], -(-sizes[-1] // width)], vector)


def build(cases: Sequence[Case]) -> ir.Module:
    """A module with a function ``f<i>`` for each case; in the current context."""
    module = ir.Module.create()
    for i, case in enumerate(cases):
        kinds = [case.memref(j) for j in range(len(case.tensors))]
        with ir.InsertionPoint(module.body):
            function = dialect("func").FuncOp(f"f{i}", (kinds, []))
            entry = function.add_entry_block()
        with ir.InsertionPoint(entry):
            end = dialect("func").ReturnOp([])
        write(case, list(entry.arguments), end.operation)
        take_from_stack(function.operation, entry)
    return module


def take_from_stack(function: ir.Operation, entry: ir.Block) -> None:
    """The buffers of a kernel's own, which a program has in its workspace."""
    memref = dialect("memref")
    allocations: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.alloc":
            allocations.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    line = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), LINE_BYTES)
    for op in allocations:
        with ir.InsertionPoint.at_block_begin(entry):
            slot = memref.AllocaOp(op.results[0].type, [], [], alignment=line)
        op.results[0].replace_all_uses_with(slot.result)
        op.erase()


def write(case: Case, arguments: list[ir.Value], end: ir.Operation) -> None:
    values = list(arguments)
    for j, tensor in enumerate(case.spec.tensors):
        if tensor.level is VRF:
            kind = registers(tensor, case.spec.shape(j))
            with ir.InsertionPoint(end):
                values[j] = dialect("memref").AllocaOp(kind, [], []).result
            if case.spec.kind.operands[j].is_read:
                move(case, j, arguments[j], values[j], end, "load")
    emit_kernel(KERNELS[case.kernel], case.spec, values, end)
    for j, tensor in enumerate(case.spec.tensors):
        if tensor.level is VRF and case.spec.kind.operands[j].is_written:
            move(case, j, values[j], arguments[j], end, "store")


def move(
    case: Case, j: int, src: ir.Value, dst: ir.Value, end: ir.Operation, name: str
) -> None:
    forms = (case.tensors[j], case.spec.tensors[j])
    if name == "store":
        forms = (forms[1], forms[0])
    shape = case.spec.shape(j)
    wide = KERNELS[case.kernel].isa.vector_bytes > AVX2.isa.vector_bytes
    emit_kernel(
        KERNELS[f"{name}_512" if wide and f"{name}_512" in KERNELS else name],
        Spec(Move(len(shape)), shape, forms, case.spec.limits),
        [src, dst],
        end,
    )


def compiled(cases: Sequence[Case], opt: int = 3) -> Engine:
    with ir.Context(), ir.Location.unknown():
        text = lower_to_llvm_text(build(cases))
    isa = isa_of(cases)
    return compile_llvm(text, cpu=isa.cpu, features=features_text(isa), opt=opt)


def filler(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    count = math.prod(shape) * dtype.itemsize
    return np.full(count, FILLER, np.uint8).view(dtype).reshape(shape)


def to_physical(layout: Layout, logical: Array) -> Array:
    """The tile as it lies in memory, its padding filled."""
    shape, places = _places(layout, logical.shape)
    out = filler(shape, logical.dtype)
    out[places] = logical
    return out


@functools.lru_cache(maxsize=16)
def _places(
    layout: Layout, sizes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The shape of a tile in memory, and where in it each element lies."""
    places = layout.index_map(tuple(np.indices(sizes)))
    return tile_shape(layout, sizes), tuple(places)


def bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint8)


def run(
    case: Case, address: int, arrays: Sequence[Array], side: str
) -> tuple[Array, Array]:
    """The output in physical form, and what the definition says it is.

    ``arrays`` are the operands that are read, in logical order.
    """
    remaining, placed = list(arrays), []
    for j, operand in enumerate(case.spec.kind.operands):
        tensor = case.tensors[j]
        if operand.is_read:
            values = to_physical(tensor.layout, remaining.pop(0))
        else:
            values = filler(case.shapes[j], tensor.dtype.numpy)
        placed.append(
            guarded_array(
                values.reshape(case.rows[j]),
                side,  # type: ignore[arg-type]
                operand.is_written,
                case.gap(j),
                operand.name,
            )
        )
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(placed))(address)
    call(*[array.ctypes.data for array in placed])
    for array in placed:
        check_canaries(array)
    results, wanted = [], []
    for j, out in zip(case.spec.kind.written, case.spec.outputs(*arrays), strict=True):
        form = case.tensors[j]
        physical = to_physical(form.layout, out.astype(form.dtype.numpy))
        got = np.array(placed[j]).reshape(physical.shape)
        if not is_exact(case.spec.kind, case.spec.sizes):
            physical = _settled(case, j, arrays, got, physical)
        results.append(got.reshape(-1))
        wanted.append(physical.reshape(-1))
    if len(results) > 1:
        return np.concatenate(results), np.concatenate(wanted)
    return results[0], wanted[0]


def _settled(
    case: Case, out: int, arrays: Sequence[Array], got: Array, wanted: Array
) -> Array:
    """What is wanted of an output that rounds: what it is, where that is within the
    bound."""
    kind, sizes = case.spec.kind, case.spec.sizes
    wide = tuple(array.astype(np.float64) for array in arrays)
    number, bound = reference(kind, sizes, wide)[kind.written.index(out)]
    bound = stored_error(number, bound, case.tensors[out].dtype)
    layout = case.tensors[out].layout
    _, places = _places(layout, case.spec.shape(out))
    here = got[places]
    near = np.abs(here.astype(np.float64) - number) <= bound
    settled = wanted.copy()
    settled[places] = np.where(near, here, wanted[places])
    return settled


def check(case: Case, address: int, arrays: Sequence[Array]) -> None:
    """Equal to the definition, bit for bit, next to forbidden pages on either side.

    A NaN of the definition stands for every NaN, unless the Spec is a move.
    """
    for side in ("end", "start"):
        results, wanted = run(case, address, arrays, side)
        if wanted.dtype == np.float32 and not isinstance(case.spec.kind, Move):
            both = np.isnan(results) & np.isnan(wanted)
            results[both] = wanted[both]
        assert np.array_equal(bits(results), bits(wanted)), f"{case} at the {side}"


def check_random(cases: Iterable[Case]) -> None:
    """Every case as the kernel writes it, and one of `SAMPLE` as users get it.

    Unoptimised code takes a third of the time to make, and does every read and write
    that the kernel asks for. `test_every_kernel` is about what LLVM makes of it.
    """
    cases = list(cases)
    assert cases
    skip_where_it_cannot_run(isa_of(cases))
    refused = [case for case in cases if not legal(case.kernel, case.spec)]
    assert not refused, refused[0]
    sample = cases[::SAMPLE]
    parts = [(cases, compiled(cases, opt=0)), (sample, compiled(sample))]

    def everything() -> int:
        rng, count = np.random.default_rng(0), 0
        for part, engine in parts:
            for i, case in enumerate(part):
                check(case, engine.address(f"f{i}"), case.spec.random(rng))
                count += 1
        return count

    assert check_in_child(everything) == len(cases) + len(sample)


@functools.cache
def legal_cases(name: str, specs: tuple[Spec, ...]) -> tuple[Case, ...]:
    """A case for each Spec that the kernel takes."""
    return tuple(Case(name, s) for s in specs if legal(name, s))


def price(kernel: Kernel | str, frame: Frame, target: Target = AVX2) -> Ints:
    """Millicycles of a run of a kernel."""
    if isinstance(kernel, str):
        kernel = KERNELS[kernel]
    return cost_model(target).kernel(frame, kernel.op_counts(frame))

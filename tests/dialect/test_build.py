"""Specs to ops and back."""

import pytest

from morello.dialect.build import (
    build_kernel_op,
    build_spec_op,
    kernel_of,
    spec_function,
    spec_of,
)
from morello.dialect.memrefs import (
    DYNAMIC,
    check_memref,
    moved,
    scaled,
    tile_extent,
    whole_shape,
    whole_type,
)
from morello.dialect.operand_groups import MAX_OPERANDS, SEGMENTS
from morello.dialect.ops import SPEC_OPS
from morello.dialect.places import place
from morello.dialect.range_check import build_range_check, read_range_check
from morello.dialect.target import named_target, target_of
from morello.errors import MorelloError, SpecError, TargetError
from morello.machine import AVX2
from morello.mlir import dialect, ir
from morello.spec import Dtype, Encoding, Layout, Spec, TensorSpec, parse_spec
from morello.spec.kinds import KINDS, instances

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("known_dialects")]

SPECS = (
    *(kind.example for kind in KINDS),
    "matmul:6x4x16:f32",
    "matmul_accum:2x6x4x16:s32",
    "matmul:6x4x16:bf16,bf16,f32:rhs=[0,2,1,2p16]",
    "matmul_accum:6x4x20:f32:rhs=[0,2,1,2p16]@L1:lhs=[0,1,2]@L1:out=[0,1,2]@VRFv8",
    "move:8x16:u8:dst=[1,0]@L2",
    "fill:5x7x9:f32:value=lowest",
    "fill:5:s8",
    "max:8x33:f32",
    "max_accum:8x33:s32:vrf=3:l1=0",
    "attention:2x3x4x8x8:f32",
    "conv:1x3x9x8x4x3x3:f32:pad=1:stride=2",
    "compose:6x3:f32:graph=y[u]=sum(w[i]*x[pad(2*u+i,-1,2)])",
    "compose:5x9x14:f32:graph=y[m,n]=sum(a[m,k]*s[k//4,n]*b[k,n])",
    "compose:4:f32:graph=y[u]=where(less(x[u],-0.0),1e-45,maximum(x,0.1))",
    "compose:4:s32:graph=y[u]=x[u]*3-1",
)


def only_op(module: ir.Module) -> ir.Operation:
    block = module.body.operations[0].regions[0].blocks[0]
    op, _ = block.operations
    return op.operation


@pytest.mark.parametrize("text", SPECS)
def test_a_spec_survives_the_ir_and_its_text(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    module = spec_function(spec, "f", AVX2)
    assert module.operation.verify()
    again = ir.Module.parse(str(module))
    assert spec_of(only_op(again)) == spec
    assert (SEGMENTS in only_op(again).attributes) == spec.kind.is_variadic
    assert str(again) == str(module)
    function = again.body.operations[0]
    shapes = [tuple(a.type.shape) for a in function.regions[0].blocks[0].arguments]
    wanted = [whole_shape(t, spec.shape(i)) for i, t in enumerate(spec.tensors)]
    assert shapes == wanted


def test_every_kind_has_an_op() -> None:
    assert list(SPEC_OPS) == [f"morello.{kind.name}" for kind in KINDS]
    assert all(len(kind.operands) <= MAX_OPERANDS for kind in instances())


def test_parallel_specs_are_told_apart() -> None:
    spec = parse_spec("matmul:6x4x16:f32", AVX2.limits)
    parallel = Spec(spec.kind, spec.sizes, spec.tensors, spec.limits, serial=False)
    assert spec_of(only_op(spec_function(parallel, "f"))) == parallel


def test_a_kernel_op_holds_its_spec() -> None:
    spec = parse_spec("fill:8x16:f32:out=[0,1]@L1/strided", AVX2.limits)
    module = spec_function(spec, "f")
    op = only_op(module)
    with ir.InsertionPoint(op):
        leaf = build_kernel_op("fill_rows", spec, list(op.operands))
    assert module.operation.verify()
    assert kernel_of(leaf) == ("fill_rows", spec)
    with pytest.raises(SpecError, match=r"'morello\.kernel' is not a Spec op; those"):
        spec_of(leaf)
    with pytest.raises(SpecError, match=r"'morello\.fill' is not a morello\.kernel"):
        kernel_of(op)


def test_a_misbuilt_op_is_reported_where_it_is() -> None:
    spec = parse_spec("fill:8x16:f32", AVX2.limits)
    module = spec_function(parse_spec("fill:8x17:f32", AVX2.limits), "f")
    op = only_op(module)
    with ir.InsertionPoint(op), ir.Location.file("x.py", 3, 4):
        build_spec_op(spec, list(op.operands))
    with pytest.raises(ir.MLIRError) as caught:
        module.operation.verify()
    (diagnostic,) = caught.value.error_diagnostics
    assert str(diagnostic.location) == 'loc("x.py":3:4)'
    assert "its shape must be 8x16" in diagnostic.message


def test_the_target_is_that_of_the_nearest_op_around() -> None:
    module = spec_function(parse_spec("fill:8x16:f32", AVX2.limits), "f")
    op = only_op(module)
    assert named_target(op) is None
    assert target_of(op) is AVX2
    module.operation.attributes["morello.target"] = ir.StringAttr.get("vax")
    with pytest.raises(TargetError, match="unknown target 'vax'; use one of avx2"):
        target_of(op)
    op.attributes["morello.target"] = ir.StringAttr.get("avx2")
    assert target_of(op) is AVX2
    op.attributes["morello.target"] = ir.UnitAttr.get()
    with pytest.raises(MorelloError, match=r"'morello\.target' must be a string"):
        target_of(op)


def test_odd_even_packs_are_not_cut() -> None:
    layout = Layout.parse("[0,1,1oe8]")
    assert [tile_extent(layout, p, (3, 5)) for p in range(3)] == [3, 1, 8]
    assert [tile_extent(layout, p, (3, 1)) for p in range(3)] == [3, 1, 1]
    plain = Layout.parse("[0,1,1p8]")
    assert [tile_extent(plain, p, (3, 5)) for p in range(3)] == [3, 1, 5]


@pytest.mark.parametrize(
    ("base", "offsets", "strides", "wanted"),
    [
        (0, (2, 3), (8, 1), 19),
        (5, (0, 0), (8, 1), 5),
        (5, (0, 3), (DYNAMIC, 1), 8),  # nothing further along the first
        (5, (1, 3), (DYNAMIC, 1), DYNAMIC),
        (DYNAMIC, (0, 3), (8, 1), DYNAMIC),
        (0, (DYNAMIC, 3), (8, 1), DYNAMIC),
        (0, (3, DYNAMIC), (8, 1), DYNAMIC),
        (0, (DYNAMIC, 3), (DYNAMIC, 1), DYNAMIC),
    ],
)
def test_offsets_of_views(
    base: int, offsets: tuple[int, ...], strides: tuple[int, ...], wanted: int
) -> None:
    assert moved(base, offsets, strides) == wanted
    assert [scaled(8, 3), scaled(DYNAMIC, 3), scaled(0, 3)] == [24, DYNAMIC, 0]


def test_registers_hold_whole_vectors() -> None:
    assert whole_shape(TensorSpec.parse("f32@VRF[0,1]v8"), (3, 17)) == (3, 3)


@pytest.mark.parametrize(
    ("shape", "strides", "fits"),
    [
        ("1x4x6", "32, 8, 1", True),
        ("1x4x6", "777, 8, 1", True),  # of one batch no stride says anything
        ("1x4x6", "24, 6, 1", False),
        ("1x4x6", "36, 9, 1", False),
        ("1x4x6", "?, ?, 1", False),
        ("3x4x6", "32, 8, 1", True),
        ("3x4x6", "40, 8, 1", False),
        ("3x1x6", "8, 777, 1", True),
        ("3x1x6", "9, 8, 1", False),
        ("3x4x1", "32, 8, 777", True),
    ],
)
def test_the_rows_of_an_argument_are_as_far_apart_as_its_spec_says(
    shape: str, strides: str, fits: bool
) -> None:
    batch, m, k = shape.split("x")
    spec = parse_spec(f"matmul:{batch}x{m}x{k}x5:f32:lhs=ld8", AVX2.limits)
    memref = ir.Type.parse(f"memref<{shape}xf32, strided<[{strides}]>>")
    if fits:
        check_memref(spec, 0, memref)
        return
    with pytest.raises(SpecError, match="but its leading dimension is 8"):
        check_memref(spec, 0, memref)


@pytest.mark.parametrize(
    ("form", "part", "said"),
    [
        ("s8@L1[0,1]", Encoding.S7, ""),
        ("s8@MEM[1,0]", Encoding.S7, ""),
        ("s8@L1[0,1]", Dtype.U8, "'part' is u8, which is no part of s8"),
        ("f32@L1[0,1]", Encoding.S7, "'part' is s7, which is no part of f32"),
        ("s8@L1[0,1,1p8]", Encoding.S7, "is packed or in registers"),
        ("s8@VRF[0,1]v32", Encoding.S7, "is packed or in registers"),
    ],
)
def test_operands_whose_range_is_checked(form: str, part: Dtype, said: str) -> None:
    tensor, sizes = TensorSpec.parse(form), (8, 32)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        kind = whole_type(tensor, sizes)
        source = dialect("memref").AllocOp(kind, [], []).result
        result = build_range_check(source, tensor, sizes, part)
    if not said:
        assert module.operation.verify()
        assert read_range_check(result.owner) == (tensor, sizes, part)
        return
    with pytest.raises(SpecError, match=said):
        read_range_check(result.owner)
    with pytest.raises(ir.MLIRError, match="Verification failed"):
        module.operation.verify()


def test_places() -> None:
    assert place(ir.Location.file("a.mlir", 3, 4)) == "a.mlir:3:4"
    assert place(ir.Location.file("-", 3, 4)) == "3:4"
    assert place(ir.Location.unknown()) == "an unknown place"


@pytest.mark.parametrize("text", ["[" + "1" * 5000 + "]", "[0" + ",0p2" * 100 + "]"])
def test_endless_layouts_are_refused(text: str) -> None:
    attr = ir.Attribute.parse(f'#morello.layout<"{text}">')
    from morello.dialect.attributes import layout_of

    with pytest.raises(SpecError, match="characters is too long"):
        layout_of(attr)
    limits = ir.Attribute.parse(f'#morello.limits<"vrf={"1" * 5000},l1=0,l2=0">')
    from morello.dialect.attributes import limits_of

    with pytest.raises(SpecError, match="characters is too long"):
        limits_of(limits)

"""PackBeside: the first rows while rhs is packed."""

import numpy as np
import pytest

import morello
from morello.actions import PackBeside, Select
from morello.dialect import load
from morello.dialect.build import spec_function
from morello.errors import ScheduleError
from morello.mlir import ir
from morello.spec import Level, Spec, parse_spec, print_spec
from morello.targets import AVX2, find_target
from morello.targets.avx2_golden_cove import AVX2_GOLDEN_COVE

INTO_L2 = PackBeside("matmul_packing", 6, Level.L2)


SCHEDULE = """
transform.named_sequence @__transform_main(
    %root: !transform.any_op {{transform.readonly}}) {{
  %0 = transform.structured.match ops{{["morello.matmul"]}} in %root
    : (!transform.any_op) -> !transform.any_op
  %t:2 = "morello_transform.tile"(%0) {{dim = "n", size = 48 : i64}}
    : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %p:2 = "morello_transform.pack_beside"(%t#0)
    {{kernel = "matmul_packing", size = 6 : i64, level = "{level}"}}
    : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}}
"""


def spec(text: str) -> Spec:
    return parse_spec(text, AVX2_GOLDEN_COVE.limits)


def holes(action: PackBeside, text: str) -> list[str]:
    limits = AVX2_GOLDEN_COVE.limits
    found = action.apply(spec(text), AVX2_GOLDEN_COVE).holes
    return [f"{h.role} {h.times} {print_spec(h.spec, limits)}" for h in found]


def test_the_rows_after_the_first_read_the_copy() -> None:
    found = holes(INTO_L2, "matmul:20x64x32:f32")
    assert [text.split(":f32:")[0] for text in found] == [
        "main 2 matmul:6x64x32",
        "remainder 1 matmul:2x64x32",
    ]
    assert all("rhs=[0,2,1,2p16]@L2" in text for text in found)
    assert [text.split()[0] for text in holes(INTO_L2, "matmul:12x64x32:f32")] == [
        "main"
    ]
    assert [text.split()[0] for text in holes(INTO_L2, "matmul:8x64x32:f32")] == [
        "remainder"
    ]


def test_it_hides_lines_behind_products() -> None:
    """Beyond L2 the first rows cost less than they do beside a copy."""
    beside = INTO_L2.apply(spec("matmul:60x512x256:f32"), AVX2_GOLDEN_COVE).cost
    lines = 512 * 256 // 16
    prices = AVX2_GOLDEN_COVE.prices
    products = 12 * prices.fma * lines
    copying = (prices.line_gl + prices.store_l2 + 2 * prices.store) * lines
    assert max(products, copying) < beside < products + copying


@pytest.mark.parametrize(
    ("text", "action", "reason"),
    [
        (
            "matmul:20x64x32:f32",
            PackBeside("matmul_rows", 6, Level.L2),
            "'matmul_rows' is no kernel of the target that leaves a copy of an "
            "operand; those are: matmul_packing",
        ),
        (
            "matmul:20x64x32:f32:rhs=[0,2,1]",
            INTO_L2,
            "'matmul_packing' computes no rows of matmul f32@GL[0,1,2]! f32@GL[0,2,1]!",
        ),
        ("fill:8", INTO_L2, "'matmul_packing' computes no rows of fill f32@GL[0]!"),
        (
            "matmul:20x64x32:f32",
            PackBeside("matmul_packing", 6, Level.GL),
            "rhs is in GL and is packed into L2 or L1, no farther",
        ),
        ("matmul:6x64x32:f32", INTO_L2, "size 6 is not smaller than m = 6"),
        (
            "matmul:20x64x32:f32",
            PackBeside("matmul_packing", 7, Level.L2),
            "takes at most 6 rows",
        ),
        ("matmul:20x64x40:f32", INTO_L2, "takes whole panels"),
        ("matmul:20x64x32:f32:l2=100", INTO_L2, "takes 128 cache lines of L2, 100 are"),
    ],
)
def test_refusals(text: str, action: PackBeside, reason: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        action.apply(spec(text), AVX2_GOLDEN_COVE)
    assert reason in str(refused.value)


def test_its_kernel_is_never_selected() -> None:
    """It writes a buffer that the Spec does not have."""
    near = spec("matmul:6x64x32:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L2:out=[0,1,2]@L1")
    assert Select("matmul_packing") not in Select.candidates(
        near.key, (), AVX2_GOLDEN_COVE
    )
    with pytest.raises(ScheduleError, match="does not implement"):
        Select("matmul_packing").apply(near, AVX2_GOLDEN_COVE)


def test_a_target_without_the_kernel_does_not_try_it() -> None:
    axes = ((1,), (6, 20), (64,), (32,))
    key = spec("matmul:20x64x32:f32").key
    assert list(PackBeside.candidates(key, axes, AVX2_GOLDEN_COVE)) == [INTO_L2]
    assert not list(PackBeside.candidates(key, axes, AVX2))


@pytest.mark.parametrize("level", [Level.L2, Level.L1])
def test_a_program_of_it_is_exact(level: Level) -> None:
    """With the rest left to the search; the rows of rhs have gaps in a tile of n."""
    given, target = spec("matmul:20x70x100:f32"), find_target("avx2-golden-cove")
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        text = str(spec_function(given, "f", target))
    head, _, tail = text.rpartition("}")
    module = f"{head}{SCHEDULE.format(level=level)}}}{tail}"
    module = module.replace(
        "attributes {", "attributes {transform.with_named_sequence, "
    )
    kernel = morello.compile(given, target=target, threads=1, schedule=module)
    assert "pack_beside" in str(kernel.schedule)
    rng = np.random.default_rng(0)
    lhs, rhs = (
        rng.integers(-4, 5, shape).astype(np.float32) for shape in ((20, 70), (70, 100))
    )
    assert np.array_equal(kernel(lhs, rhs), lhs @ rhs)

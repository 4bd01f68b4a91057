"""The text form of targets."""

import dataclasses

import pytest

from morello.errors import TargetError
from morello.machine import AVX2, Target, find_target, print_target

pytestmark = pytest.mark.quick


def test_a_known_target_is_its_name() -> None:
    assert print_target(AVX2) == "avx2"
    assert find_target(" avx2 ") == AVX2
    assert find_target("avx2{}") == AVX2


@pytest.mark.parametrize(
    "text",
    [
        "avx2{threads=2}",
        "avx2{l1_lines=256,threads=3,fork=1000}",
        "avx2{threads=2,relayouts=0}",
        "avx2{fork=1000,stale=gemm_tile+load}",
        "avx2{stale=}",
    ],
)
def test_changes_are_read_and_printed(text: str) -> None:
    target = find_target(text)
    assert target != AVX2
    assert print_target(target) == text
    assert find_target(print_target(target)) == target


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vax", "unknown target 'vax'; use one of avx2"),
        ("avx2{", "unknown target"),
        ("avx2{speed=3}", "has no number 'speed'; those are l1_lines, "),
        ("avx2{fork=fast}", "'fork=fast' in the target .* gives no number"),
        ("avx2{fork=1,fork=2}", "'fork=2' in the target .* gives no number"),
        ("avx2{relayouts=2}", "'relayouts=2' is neither no nor yes; write 0 or 1"),
        ("avx2{stale=gemm_tile+vax}", "'stale=gemm_tile.vax' in .* names no prices; w"),
        ("avx2{stale=load+load}", "'stale=load.load' in the target .* names no price"),
        ("avx2{stale=load,stale=}", "'stale=load,stale=' in the target .* names no"),
        ("avx2{threads=0}", "has threads=0; give a whole number from 1 to 1024"),
        ("avx2{threads=1025}", "has threads=1025; give a whole number from 1 to"),
        ("avx2{l1_lines=0}", "has l1_lines=0; give a whole number from 4 to"),
        ("avx2{l1_lines=24,l1_ways=8}", "has l1_ways=8, into which its l1_lines=24"),
        ("avx2{l1_lines=99999999999}", "has l1_lines=99999999999; give a whole"),
        ("avx2{l1_ways=0}", "has l1_ways=0; give a whole number from 1"),
        ("avx2{l1_ways=3}", "has l1_ways=3, into which its l1_lines=512 cannot be"),
        ("avx2{l1_ways=999999}", "has l1_ways=999999, into which its l1_lines=512"),
        ("avx2{l2_lines=3}", "has l2_lines=3; give a whole number from 8"),
        ("avx2{l2_lines=12288}", "has l2_lines=12288; give a power of two"),
        ("avx2{l2_lines=999999999999999}", "has l2_lines=999999999999999; give"),
        ("avx2{l3_lines=0}", "has l3_lines=0; give a whole number from 1 to"),
        ("avx2{first_part=0}", "has first_part=0; give a whole number from 1 to"),
        ("avx2{scalar=1000000001}", "has scalar=1000000001; give a whole number fr"),
        ("avx2{fork=999999999999999}", "has fork=999999999999999; give a whole"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        find_target(text)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (dataclasses.replace(AVX2, name="mine"), "the target 'mine' is not known"),
        (
            dataclasses.replace(AVX2, kernels=("fill_rows",)),
            "differs from the known one in more than numbers",
        ),
    ],
)
def test_a_target_that_has_no_text(target: Target, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        print_target(target)

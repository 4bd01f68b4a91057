"""A1, B1, B3: 300 random Specs, three random programs each, to the last bit."""

import dataclasses
import random

import pytest

from morello.machine import AVX2
from morello.spec import Spec, parse_spec
from tests.quality.execution import check_all
from tests.quality.programs import Program, build_programs
from tests.quality.random_programs import SCHEDULES, check_random_programs
from tests.quality.walks import random_program

SPECS = 300
BATCH = 30


@pytest.mark.sampled(18)
@pytest.mark.parametrize("first", range(0, SPECS, BATCH))
def test_random_programs_are_exact(first: int) -> None:
    seeds = range(first, first + BATCH)
    assert check_random_programs(seeds) == BATCH * SCHEDULES


def spec(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


def wrong(built: str, claimed: str) -> Program:
    """The code of one Spec under the name of another."""
    impl = random_program(spec(built), random.Random(0))
    (program,) = build_programs([impl], ["how to make it again"])
    return dataclasses.replace(program, spec=spec(claimed))


@pytest.mark.parametrize(
    ("built", "claimed", "message"),
    [
        ("fill:9:f32", "fill:9:f32:value=lowest", "9 of 9 elements are wrong"),
        ("move:6x6:f32", "move:6x6:f32:dst=[1,0]", "30 of 36 elements are wrong"),
        ("matmul:3x4x5:s32", "matmul_accum:3x4x5:s32", "elements are wrong"),
        ("fill:9:f32", "fill:8:f32", "a write 0 bytes past the end of 'out'"),
        ("max:1x9:f32", "max:1x8:f32", "past the end of 'x0'"),
        ("fill:8:f32", "fill:7:f32:out=[0,0p8]", "the padding of 'out' was written"),
    ],
)
def test_a_wrong_program_is_seen_and_named(
    built: str, claimed: str, message: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        check_all([wrong(built, claimed)], seed=0)
    assert str(caught.value).startswith("how to make it again: ")
    assert message in str(caught.value)

"""The costs that are shipped are those of recorded runs of ``morello calibrate``."""

import dataclasses
from pathlib import Path

import pytest

from morello.machine import AVX2, Target, find_target
from morello.machine.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.machine.avx2_zen3 import AVX2_ZEN3
from morello.machine.file import read_target_file

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
RECORDS = {
    AVX2: RESULTS / "avx2-zen4.target",
    AVX2_GOLDEN_COVE: RESULTS / "avx2-golden-cove.target",
    AVX2_ZEN3: RESULTS / "avx2-zen3.target",
}

SPLIT_OFF = {
    "turn_copy": "turn_gl",
    "row_turned": "row_gl",
    "stream_far": "stream_gl",
    "rows_l2": "hidden_l2",
}
"""Coefficients that are younger than a record, and those that they were part of."""

SINCE = {
    (AVX2_GOLDEN_COVE, "row_turned"),
    (AVX2_GOLDEN_COVE, "rows_l2"),
    (AVX2_ZEN3, "stream_far"),
    (AVX2_ZEN3, "rows_l2"),
    *((target, "prefetch_dram") for target in RECORDS),
    *((target, "split_load") for target in RECORDS),
    *((target, "split_l2") for target in RECORDS),
    *((target, "dispatch") for target in RECORDS),
}
"""What is younger than the run and no part of another: docs/internals/cost.md."""

CORRECTED = {(AVX2_ZEN3, "stream_gl"): 50}
"""What a run wrote and was wrong about, as docs/internals/cost.md says."""

each = pytest.mark.parametrize("target", RECORDS, ids=lambda target: target.name)


@each
def test_the_costs_are_what_the_recorded_run_wrote(target: Target) -> None:
    wrong = {name: value for (of, name), value in CORRECTED.items() if of == target}
    costs = dataclasses.replace(target.coefficients, **wrong)
    written = dataclasses.replace(target, coefficients=costs)
    assert find_target(f"@{RECORDS[target]}") == written


@each
def test_the_record_names_every_coefficient_and_where_it_is_from(
    target: Target,
) -> None:
    written = read_target_file(str(RECORDS[target]))
    for field in dataclasses.fields(target.coefficients):
        shipped = getattr(target.coefficients, field.name)
        value = CORRECTED.get((target, field.name), shipped)
        if (target, field.name) in SINCE:
            assert f"{field.name}=" not in written
        elif f"{field.name}=" not in written:
            # It was a part of another when the run was made.
            assert f"{SPLIT_OFF[field.name]}={value}" in written
        else:
            assert f"{field.name}={value}" in written
    head = [
        line for line in RECORDS[target].read_text().splitlines() if line[:1] == "#"
    ]
    assert head[0].startswith("# written by: morello calibrate ")
    assert any(line.startswith("# machine: ") for line in head)
    assert any(line.endswith(", kept") for line in head)

"""The costs that are shipped are those of a recorded run of ``morello calibrate``."""

import dataclasses
from pathlib import Path

from morello.targets import AVX2, find_target
from morello.targets.file import read_target_file

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
RECORD = RESULTS / "avx2-zen4.target"


def test_the_default_is_what_the_recorded_run_wrote() -> None:
    assert find_target(f"@{RECORD}").coefficients == AVX2.coefficients


def test_the_record_names_every_coefficient_and_where_it_is_from() -> None:
    written = read_target_file(str(RECORD))
    for field in dataclasses.fields(AVX2.coefficients):
        assert f"{field.name}={getattr(AVX2.coefficients, field.name)}" in written
    head = [line for line in RECORD.read_text().splitlines() if line.startswith("#")]
    assert head[0].startswith("# written by: morello calibrate ")
    assert any(line.startswith("# machine: ") for line in head)
    assert any(line.endswith(", kept") for line in head)

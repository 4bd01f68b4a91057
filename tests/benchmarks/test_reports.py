"""Records, their pages and plots."""

import dataclasses
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.harness.record import Contender, Record
from benchmarks.harness.report import markdown, table, time_text
from benchmarks.harness.results import Entry, Roof, Row
from benchmarks.harness.roofline import roofline
from benchmarks.harness.session import write

pytestmark = pytest.mark.quick

ORIGIN = {"command": "python -m x", "commit": "abc123", "date": "2026-01-02"}
ROOF = Roof("fma f32", 100.0, 100.0, 10.0)


def row(
    spec: str, *entries: Entry, threads: int = 1, nbytes: int = 100, roof: Roof = ROOF
) -> Row:
    return Row(spec, threads, 10**6, nbytes, roof, entries, (0.5, 2.5), ORIGIN)


RECORD = Record(
    "a-record",
    "some machine",
    ("morello",),
    (
        Contender("morello", "1", "target avx2", True),
        Contender("fast", "2", "AVX2", True),
        Contender("odd", "3", "who knows", False),
        Contender("gone", missing="not installed"),
    ),
    {"fma f32": {"1 core": 100.0}, "read L1": {"1 core": 50.0, "2 cores": 90.0}},
    (
        row(
            "matmul:1x1x1:f32",
            Entry("morello", "ok", "", (20e-6, 30e-6)),
            Entry("fast", "ok", "", (10e-6, 15e-6), in_python=True),
            Entry("odd", "ok", "", (5e-6,), above_roof=True),
        ),
        row(
            "matmul:2x2x2:f32",
            Entry("morello", "ok", "", (1e-3,)),
            Entry("fast", "ok", "", (8e-3,)),
            Entry("odd", "wrong", "1 of 4 elements differ"),
            nbytes=10**6,
            roof=dataclasses.replace(ROOF, dram=20.0),
        ),
        row("matmul:3x3x3:f32", Entry("morello", "unsupported", "no such kernel")),
    ),
)


def lines_with(page: str, text: str) -> list[str]:
    return [line for line in page.splitlines() if text in line]


def test_tables_and_times() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert time_text(1.5) == "1.5 s"
    assert time_text(2.5e-3) == "2.5 ms"
    assert time_text(3.21e-7) == "0.321 us"


def test_the_page_compares_with_the_best_peer_that_counts() -> None:
    page = markdown(RECORD)
    first, second, third = lines_with(page, "| `matmul:")[:3]
    assert first == (
        "| `matmul:1x1x1:f32` | 1 | 20 us | 25 us | 50.0 G/s | 50.0% | - "
        "| arithmetic | - | fast | 10 us | 0.500 | 0.500 | 0.500 | abc123 |"
    )
    # 10^6 bytes at 10 GB/s take 100 us, the arithmetic 10 us.
    assert second == (
        "| `matmul:2x2x2:f32` | 1 | 1 ms | 1 ms | 1.0 GB/s | 10.0% | - "
        "| bandwidth | 5.0% | fast | 8 ms | 8.000 | 8.000 | 8.000 | abc123 |"
    )
    assert third.startswith("| `matmul:3x3x3:f32` | 1 | unsupported |")
    assert "| others | 2 | 2.000 | 0.500 | 2.000 | 2.000 | 0.500 |" in page
    squares = row(
        "matmul:64x64x64:f32",
        Entry("morello", "ok", "", (1.0, 3.0), fractions=(0.25, 0.5)),
        Entry("fast", "ok", "", (3.0, 3.0)),
    )
    page = markdown(dataclasses.replace(RECORD, rows=(*RECORD.rows, squares)))
    assert "| f32-squares | 1 | 3.000 | 3.000 | 1.500 | 2.000 | 2.000 |" in page
    assert "| 37.5% | " in page


def test_the_page_says_who_is_out_and_why() -> None:
    page = markdown(RECORD)
    assert "~~200.0~~ above the roof" in page
    assert "100.0 p" in page
    assert "- odd: wrong: 1 of 4 elements differ (`matmul:2x2x2:f32`)" in page
    assert "- morello: unsupported: no such kernel (`matmul:3x3x3:f32`)" in page
    assert lines_with(page, "missing: not installed")
    assert lines_with(page, "| odd | 3") == ["| odd | 3 | who knows | no | 200.0% |"]
    assert "| read L1 | 50.0 | 90.0 |" in page
    assert "load 0.5 to 2.5" in page
    assert "`python -m x` at abc123, 2026-01-02" in page


def test_the_plot_has_the_roofs_and_a_point_for_each() -> None:
    root = ET.fromstring(roofline(RECORD, "1 core"))
    kinds = [e.get("class") for e in root.iter() if e.tag.endswith("circle")]
    assert sorted(map(str, kinds)) == ["o", "o", "p", "p"]
    said = "".join(root.itertext())
    assert "fma f32 100" in said
    assert "read L1 50 GB/s" in said
    empty = dataclasses.replace(RECORD, rows=())
    assert ET.fromstring(roofline(empty, "1 core")) is not None


def test_a_record_is_read_back_and_grows(tmp_path: Path) -> None:
    write(RECORD, tmp_path)
    path = tmp_path / "a-record.json"
    assert Record.load(path) == RECORD
    assert "[2e-05, 3e-05]" in path.read_text()
    again = row("matmul:2x2x2:f32", Entry("morello", "ok", "", (5.0,)))
    other = row("matmul:2x2x2:f32", Entry("morello", "ok", "", (7.0,)), threads=2)
    newer = dataclasses.replace(
        RECORD,
        contenders=(Contender("fast", "2.1", "AVX2", True),),
        roofs={"read L1": {"1 core": 55.0}},
        rows=(again, other),
    )
    merged = newer.merged(RECORD)
    assert [(r.spec, r.threads) for r in merged.rows] == [
        ("matmul:1x1x1:f32", 1),
        ("matmul:3x3x3:f32", 1),
        ("matmul:2x2x2:f32", 1),
        ("matmul:2x2x2:f32", 2),
    ]
    assert merged.rows[2] == again
    assert [c.version for c in merged.contenders] == ["2.1", "1", "3", ""]
    assert merged.roofs["read L1"] == {"1 core": 55.0, "2 cores": 90.0}
    assert json.loads(path.read_text())["rows"][0]["entries"][0]["of_roof"] == 0.5

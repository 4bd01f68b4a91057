"""``morello bench``: output, timing, refusals."""

import json
import os
import re
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.compiler.kernel import Kernel
from morello.compiler.tuning.timing import LEAST_SAMPLES, SAMPLE_SECONDS, pinned, sample
from morello.machine import AVX2
from morello.machine.isa import AVX2_VNNI, AVX512_AMX, AVX512_VNNI_BF16, Isa
from morello.spec import Compose, parse_spec
from morello.tools.morello import main
from morello.tools.subcommands.bench import Measurement, operand_bytes, peak_dtype
from tests.tool import Tool

ASKED = {
    "spec": str,
    "target": str,
    "threads": int,
    "best_s": float,
    "median_s": float,
    "gflops": float,
    "peak_gflops": float,
    "fraction_of_peak": float,
    "search_s": float,
    "compile_s": float,
    "cost": int,
    "verified": bool,
}


def bench(tool: Tool, *line: str) -> Any:
    report = tool.json("bench", *line, "--seconds", "0.05")
    assert list(report) == list(Measurement.__dataclass_fields__)
    return report


def test_json(tool: Tool) -> None:
    report = bench(tool, "matmul:6x5x9:f32", "--threads", "1")
    for name, kind in ASKED.items():
        assert type(report[name]) is kind, name
    assert report["spec"] == "matmul:6x5x9:f32"
    assert (report["target"], report["threads"], report["threads_used"]) == (
        "avx2",
        1,
        1,
    )
    assert report["verified"]
    assert 0 < report["best_s"] <= report["median_s"] < 1e-3
    assert report["gflops"] == pytest.approx(2 * 6 * 5 * 9 / report["best_s"] / 1e9)
    assert report["peak_gflops"] > report["gflops"]
    fraction = report["gflops"] / report["peak_gflops"]
    assert report["fraction_of_peak"] == pytest.approx(fraction)
    assert report["cost"] > 0


def test_threads_are_cores_of_the_peak(tool: Tool) -> None:
    report = bench(tool, "max:4x8:s32", "--threads", "500")
    cores = len(os.sched_getaffinity(0))
    assert (report["threads"], report["threads_used"]) == (500, 1)
    assert report["peak_gflops"] == pytest.approx(report["peak_gflops_core"] * cores)


@pytest.mark.parametrize(
    ("spec", "nbytes"), [("move:7x9:f32:dst=[1,0]", 504), ("fill:5x3:u8", 15)]
)
def test_without_flops(spec: str, nbytes: int, tool: Tool) -> None:
    report = bench(tool, spec)
    for name in ("gflops", "median_gflops", "peak_gflops", "fraction_of_peak"):
        assert report[name] is None
    assert report["gbytes_per_s"] == pytest.approx(nbytes / report["best_s"] / 1e9)
    assert report["verified"]


def test_given_schedule_was_not_searched(tmp_path: Path, tool: Tool) -> None:
    path = str(tmp_path / "fill.mlir")
    assert main(["emit", "fill:5x3", "--stage", "schedule", "-o", path]) == 0
    cost = bench(tool, "fill:5x3")["cost"]
    report = bench(tool, "fill:5x3", "--schedule", path)
    assert (report["search_s"], report["cost"], report["verified"]) == (
        None,
        cost,
        True,
    )


def test_table(tool: Tool) -> None:
    out = tool.out("bench", "max:4x8:f32", "--seconds", "0.05")
    for row in (
        r"spec +max:4x8:f32 on avx2 \(\w+\)",
        r"threads +1 allowed, 1 used",
        r"kernel +found in .*, compiled in \S+ \w?s",
        r"cost +[\d.,]+ cycles = \S+ .?s at 3 GHz",
        r"verified +exact: all 4 elements are the definition's, bit for bit",
        r"best +\S+ .?s a call, \S+ GFLOP/s",
        r"median +\S+ .?s a call, \S+ GFLOP/s, \d+ samples of \d+ calls",
        r"peak +\S+ GFLOP/s of multiply-adds; the best is \S+ % of it",
        r"bandwidth +\S+ GB/s of operands",
    ):
        assert re.search(f"^{row}$", out, re.M), row


def test_wrong_kernel_is_not_timed(monkeypatch: pytest.MonkeyPatch, tool: Tool) -> None:
    monkeypatch.setattr(Compose, "evaluate", lambda *_: np.float32(-9))
    out, err = tool("bench", "max:4x8:f32", "--json", code=1)
    report = json.loads(out)
    assert (report["verified"], report["samples"]) == (False, 0)
    assert report["best_s"] is report["gflops"] is report["fraction_of_peak"] is None
    assert "the kernel of max:4x8:f32 is wrong and was not timed: 4 of 4" in err
    assert tool.out("bench", "max:4x8:f32", code=1) == ""


def test_kernel_that_changes_is_refused(
    monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    calls = iter(range(1_000_000))

    def drift(_: Kernel, out: Any) -> None:
        out[:] = max(0, next(calls) - 3)

    monkeypatch.setattr(Kernel, "__call__", drift)
    assert "gives another output after many calls; please" in tool.err(
        "bench", "fill:4", "--seconds", "0.05"
    )


@pytest.mark.parametrize(
    ("spec", "dtype"),
    [
        ("matmul:2x2x2:f32", "f32"),
        ("matmul:2x2x2:bf16,bf16,f32", "f32"),
        ("matmul:2x2x2:s32", "s32"),
        ("matmul:2x2x2:u8,s8,s32", None),
        ("max:2x2:f32", "f32"),
        ("move:2x2:f32", None),
    ],
)
def test_dtype_of_the_peak(spec: str, dtype: str | None) -> None:
    assert peak_dtype(parse_spec(spec, AVX2.limits), AVX2.isa) == dtype


@pytest.mark.parametrize(
    ("spec", "isa", "dtype"),
    [
        ("matmul:2x2x2:u8,s8,s32", AVX2_VNNI, "u8"),
        ("matmul:2x2x2:u8,s8,s32", AVX512_AMX, None),
        ("matmul:2x2x2:bf16,bf16,f32:flushing=true", AVX2_VNNI, "f32"),
        ("matmul:2x2x2:bf16,bf16,f32:flushing=true", AVX512_VNNI_BF16, "bf16"),
        ("matmul:2x2x2:bf16,bf16,f32:flushing=true", AVX512_AMX, None),
        ("matmul:2x2x2:bf16,bf16,f32", AVX512_AMX, "f32"),
    ],
)
def test_narrow_products_have_a_peak_where_one_instruction_multiplies_them(
    spec: str, isa: Isa, dtype: str | None
) -> None:
    assert peak_dtype(parse_spec(spec, AVX2.limits), isa) == dtype


def test_bytes_count_reads_and_writes() -> None:
    spec = parse_spec("matmul_accum:2x3x5:f32", AVX2.limits)
    assert operand_bytes(spec) == 4 * (6 + 15 + 2 * 10)


def test_samples_are_long_and_many() -> None:
    seen: list[int] = []
    samples = sample(sum, ([1, 2, 3],), lambda: seen.append(1), 0.05)
    assert len(samples.seconds) == len(seen) >= LEAST_SAMPLES
    assert samples.median * samples.calls >= SAMPLE_SECONDS / 2
    assert samples.best == min(samples.seconds)
    assert samples.median == statistics.median(samples.seconds)


@pytest.mark.parametrize("interrupted", [2, 3, 5])
def test_interrupted_call_does_not_make_samples_short(interrupted: int) -> None:
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1
        if calls == interrupted:
            time.sleep(2 * SAMPLE_SECONDS)

    assert sample(call, (), lambda: None, 1e-9).calls >= 100


def test_least_samples_are_taken_without_time() -> None:
    assert len(sample(sum, ([1],), lambda: None, 1e-9).seconds) == LEAST_SAMPLES


def test_pinning_ends_with_its_context() -> None:
    before = os.sched_getaffinity(0)
    with pinned(True):
        assert os.sched_getaffinity(0) == {max(before)}
    assert os.sched_getaffinity(0) == before
    with pinned(False):
        assert os.sched_getaffinity(0) == before


def test_the_target_is_printed_with_its_numbers(tmp_path: Path, tool: Tool) -> None:
    file = tmp_path / "mine.target"
    file.write_text("avx2{fork=7}")
    words = ["max:4x8:f32", "--target", f"@{file}", "--threads", "1"]
    for command in (["bench", "--seconds", "0.01"], ["run"]):
        assert re.search(
            r"^spec +max:4x8:f32 on avx2\{fork=7\}", tool.out(*command, *words)
        )
    assert tool.json("bench", *words, "--seconds", "0.01")["target"] == "avx2{fork=7}"


def test_it_says_whose_tables_were_read(tool: Tool, tmp_path: Path) -> None:
    line = "--threads", "1", "--db", str(tmp_path / "tables.sqlite")
    large, small = "matmul:8x8x8:f32", "matmul:4x8x8:f32"
    assert bench(tool, large, *line)["search"]["goals"] == {}
    search = bench(tool, small, *line)["search"]
    assert list(search["goals"]) == [large]
    assert 0 < search["table_parts"] <= search["tables_read"] == search["goals"][large]

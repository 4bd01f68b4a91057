"""``morello explain``: text, HTML and JSON, and refusals."""

import json
import re
from pathlib import Path

import pytest

import morello
from morello.machine import AVX2
from morello.search import Solver
from morello.spec import parse_spec
from morello.tools.morello import main
from tests.compiler.test_pinning import TILED

SPEC = "max:20x17:f32"

Capture = pytest.CaptureFixture[str]


def test_text(capsys: Capture) -> None:
    assert main(["explain", SPEC, "--top", "3", "--moves"]) == 0
    out, err = capsys.readouterr()
    spec = parse_spec(SPEC, AVX2.limits)
    impl = Solver(AVX2.at(spec)).solve(spec).impl
    lines = out.splitlines()
    assert lines[0] == "max:20x17:f32 on avx2"
    assert f"{impl.cost / 1000:,.0f} cycles" in lines[1]
    for node in impl.walk():
        assert f": {node.action}" in out
    assert out.count("alternatives at node") == 1
    assert "  chosen  " in out
    assert err == ""


def test_stale_prices_are_named(capsys: Capture) -> None:
    target = "avx2{stale=cost_model+reduce_rows+gemm_tile}"
    assert main(["explain", SPEC, "--target", target]) == 0
    line = "prices: not calibrated with these as they are: cost_model, reduce_rows; "
    assert line in capsys.readouterr().out
    assert main(["explain", SPEC, "--target", target, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["stale"] == ["cost_model", "reduce_rows"]
    assert main(["explain", SPEC, "--target", "avx2{stale=}"]) == 0
    assert "prices:" not in capsys.readouterr().out


def test_the_program_is_timed(capsys: Capture) -> None:
    assert main(["explain", SPEC, "--seconds", "0.001"]) == 0
    assert re.search(r"^timed: .+s a call$", capsys.readouterr().out, re.M)
    assert main(["explain", SPEC, "--seconds", "0.001", "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["timed"] < 1


def test_alternatives_at_more_nodes(capsys: Capture) -> None:
    assert main(["explain", SPEC, "--depth", "1", "--at", "4"]) == 0
    out = capsys.readouterr().out
    headings = [line for line in out.splitlines() if line.startswith("alternatives at")]
    assert [line.split(",")[0] for line in headings] == [
        f"alternatives at node {n}" for n in (0, 1, 4)
    ]


def test_json(capsys: Capture) -> None:
    text = "max:1000x1000:f32"
    assert main(["explain", text, "--json", "--ghz", "2", "--top", "4"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    report = json.loads(out)
    assert report["spec"] == text
    assert report["cost"] == report["program"]["cost"]
    assert report["microseconds"] == pytest.approx(report["cost"] / 2e6)
    rejected = report["program"]["alternatives"]["rejected"]
    assert len(rejected) == 4
    for way in rejected:
        assert way["cost"] - way["excess"] == report["cost"]
    costs, pending = 0, [report["program"]]
    while pending:
        node = pending.pop()
        costs += node["own_cost"] * node["runs"]
        pending += node["children"]
    assert costs == report["cost"]


def test_html_file_and_json_together(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "max.html"
    assert main(["explain", SPEC, "--html", str(path), "--json"]) == 0
    assert path.read_text().startswith("<!doctype html>")
    data = json.loads(capsys.readouterr().out)
    assert data["program"]["children"][0]["alternatives"] is not None
    assert main(["explain", SPEC, "--html", str(path)]) == 0
    assert capsys.readouterr().out == ""


def test_the_same_every_time(capsys: Capture) -> None:
    texts = []
    for _ in range(2):
        assert main(["explain", SPEC, "--html", "-"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["max:0x3:f32"], 1, "size 0 of max is not between 1"),
        (["max:2x2:f32:l1=0:l2=0"], 1, "no program exists"),
        (["fill:7", "--at", "99"], 2, "argument --at: the program has no node 99"),
        (["fill:7", "--ghz", "0"], 2, "'0' is not a clock in GHz"),
        (["fill:7", "--ghz", "nan"], 2, "'nan' is not a clock in GHz"),
        (["fill:7", "--depth", "-1"], 2, "'-1' is not an integer"),
        (["fill:7", "--top", "many"], 2, "'many' is not an integer"),
        (["fill:7", "--target", "vax"], 2, "argument --target"),
        (["fill:7", "--html", "/nowhere/x.html"], 2, "/nowhere/x.html: cannot write"),
        (["fill:7", "--html", "-", "--json"], 2, "both write to the standard output"),
    ],
)
def test_refusals(
    arguments: list[str], code: int, message: str, capsys: Capture
) -> None:
    assert main(["explain", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("morello: error: ")
    assert err.count("\n") == 1


def test_a_refusal_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    assert main(["explain", "fill:7", "--at", "99", "--html", str(path)]) == 2
    assert path.read_text() == "before"


def test_programs_are_counted_on_request(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explain", "fill:4:f32", "--count"]) == 0
    assert capsys.readouterr().out.endswith("\nprograms in the space: 20\n")
    assert main(["explain", "max:16x16:f32", "--count", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["programs_log10"] > 100
    page = str(tmp_path / "page.html")
    assert main(["explain", "max:16x16:f32", "--count", "--html", page]) == 0
    power = data["programs_log10"]
    assert capsys.readouterr().out == f"programs in the space: 10^{power:.1f}\n"
    assert main(["explain", "fill:4:f32", "--json"]) == 0
    assert "programs_log10" not in json.loads(capsys.readouterr().out)


def test_a_schedule_is_explained(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mine.mlir"
    file.write_text(TILED)
    arguments = [
        "explain",
        "move:4x20",
        "--schedule",
        str(file),
        "--db",
        "none",
        "--depth",
        "1",
    ]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "move 4x20: tile(d1, 5)" in text
    assert "alternatives at node 1," in text
    assert "alternatives at node 0," not in text
    page = tmp_path / "page.html"
    assert main([*arguments, "--html", str(page)]) == 0
    assert "tile(d1, 5)" in page.read_text()


def test_threads_are_explained(capsys: Capture) -> None:
    text = "fill:1024x2048:f32"
    assert main(["explain", text, "--threads", "2", "--db", "none", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert main(["explain", text, "--db", "none", "--json"]) == 0
    assert report["cost"] < json.loads(capsys.readouterr().out)["cost"]
    assert report["program"]["action"].startswith("tile_parallel")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("move:4x1024:f32", "avx2"),  # its rows are aliased
        ("move:4x20:f32", "avx2"),  # they begin within lines
        ("fill:8x64:f32", "avx2-golden-cove"),  # it is near
        ("fill:10000000:f32", "avx2"),  # it is far
    ],
)
def test_a_schedule_is_explained_wherever_its_operands_lie(
    text: str, target: str, tmp_path: Path, capsys: Capture
) -> None:
    arguments = [text, "--target", target, "--db", "none"]
    assert main(["emit", *arguments, "--stage", "schedule"]) == 0
    file = tmp_path / "mine.mlir"
    file.write_text(capsys.readouterr().out)
    assert main(["explain", *arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert main(["explain", *arguments, "--json", "--schedule", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == report["cost"]


def test_an_open_layout_is_settled_first(capsys: Capture, tmp_path: Path) -> None:
    spec = "matmul:1x32x64:f32:rhs=any"
    assert main(["explain", spec, "--threads", "1"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    kernel = morello.compile(spec, threads=1)
    assert first == f"{kernel.text} on avx2"
    file = tmp_path / "mine.mlir"
    file.write_text(kernel.schedule)
    assert main(["explain", spec, "--schedule", str(file)]) == 2
    assert "leaves a layout open, but a given schedule is for one" in (
        capsys.readouterr().err
    )


def test_unfused(capsys: Capture) -> None:
    words = ["--threads", "1", "--unfused"]
    assert main(["explain", "softmax:3x9:f32", *words]) == 0
    assert "node by node, each result through memory: " in capsys.readouterr().out
    assert main(["explain", "matmul:3x9x5:f32", *words]) == 2
    assert "matmul:3x9x5:f32 is one node" in capsys.readouterr().err

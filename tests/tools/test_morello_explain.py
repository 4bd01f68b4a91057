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
from tests.tool import Tool

SPEC = "max:20x17:f32"

Capture = pytest.CaptureFixture[str]


def test_text(tool: Tool) -> None:
    out, err = tool("explain", SPEC, "--top", "3", "--moves")
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


def test_stale_prices_are_named(tool: Tool) -> None:
    target = "avx2{stale=cost_model+reduce_rows+gemm_tile}"
    line = "prices: not calibrated with these as they are: cost_model, reduce_rows; "
    assert line in tool.out("explain", SPEC, "--target", target)
    report = tool.json("explain", SPEC, "--target", target)
    assert report["stale"] == ["cost_model", "reduce_rows"]
    assert "prices:" not in tool.out("explain", SPEC, "--target", "avx2{stale=}")


def test_the_program_is_timed(tool: Tool) -> None:
    assert re.search(
        r"^timed: .+s a call$", tool.out("explain", SPEC, "--seconds", "0.001"), re.M
    )
    assert 0 < tool.json("explain", SPEC, "--seconds", "0.001")["timed"] < 1


def test_alternatives_at_more_nodes(tool: Tool) -> None:
    out = tool.out("explain", SPEC, "--depth", "1", "--at", "4")
    headings = [line for line in out.splitlines() if line.startswith("alternatives at")]
    assert [line.split(",")[0] for line in headings] == [
        f"alternatives at node {n}" for n in (0, 1, 4)
    ]


def test_json(tool: Tool) -> None:
    text = "max:1000x1000:f32"
    out = tool.out("explain", text, "--json", "--ghz", "2", "--top", "4")
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


def test_html_file_and_json_together(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "max.html"
    data = tool.json("explain", SPEC, "--html", str(path))
    assert path.read_text().startswith("<!doctype html>")
    assert data["program"]["children"][0]["alternatives"] is not None
    assert tool.out("explain", SPEC, "--html", str(path)) == ""


def test_the_same_every_time(tool: Tool) -> None:
    texts = []
    for _ in range(2):
        texts.append(tool.out("explain", SPEC, "--html", "-"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["max:0x3:f32"], 1, "size 0 of dimension 0 of max is not between 1"),
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
def test_refusals(arguments: list[str], code: int, message: str, tool: Tool) -> None:
    out, err = tool("explain", *arguments, code=code)
    assert out == ""
    assert message in err
    assert err.startswith("morello: error: ")
    assert err.count("\n") == 1


def test_a_refusal_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    assert main(["explain", "fill:7", "--at", "99", "--html", str(path)]) == 2
    assert path.read_text() == "before"


def test_programs_are_counted_on_request(tmp_path: Path, tool: Tool) -> None:
    assert tool.out("explain", "fill:4:f32", "--count").endswith(
        "\nprograms in the space: 20\n"
    )
    data = tool.json("explain", "max:16x16:f32", "--count")
    assert data["programs_log10"] > 100
    page = str(tmp_path / "page.html")
    out = tool.out("explain", "max:16x16:f32", "--count", "--html", page)
    assert out == f"programs in the space: 10^{data['programs_log10']:.1f}\n"
    assert "programs_log10" not in tool.json("explain", "fill:4:f32")


def test_a_schedule_is_explained(tmp_path: Path, tool: Tool) -> None:
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
    text = tool.out(*arguments)
    assert "move 4x20: tile(d1, 5)" in text
    assert "alternatives at node 1," in text
    assert "alternatives at node 0," not in text
    page = tmp_path / "page.html"
    assert main([*arguments, "--html", str(page)]) == 0
    assert "tile(d1, 5)" in page.read_text()


def test_threads_are_explained(tool: Tool) -> None:
    text = "fill:1024x2048:f32"
    report = tool.json("explain", text, "--threads", "2", "--db", "none")
    assert report["cost"] < tool.json("explain", text, "--db", "none")["cost"]
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
    text: str, target: str, tmp_path: Path, tool: Tool
) -> None:
    arguments = [text, "--target", target, "--db", "none"]
    file = tmp_path / "mine.mlir"
    file.write_text(tool.out("emit", *arguments, "--stage", "schedule"))
    report = tool.json("explain", *arguments)
    again = tool.json("explain", *arguments, "--schedule", str(file))
    assert again["cost"] == report["cost"]


def test_an_open_layout_is_settled_first(tool: Tool, tmp_path: Path) -> None:
    spec = "matmul:1x32x64:f32:rhs=any"
    first = tool.out("explain", spec, "--threads", "1").splitlines()[0]
    kernel = morello.compile(spec, threads=1)
    assert first == f"{kernel.text} on avx2"
    file = tmp_path / "mine.mlir"
    file.write_text(kernel.schedule)
    assert "leaves a layout open, but a given schedule is for one" in (
        tool.err("explain", spec, "--schedule", str(file), code=2)
    )


def test_unfused(tool: Tool) -> None:
    words = ["--threads", "1", "--unfused"]
    assert "node by node, each result through memory: " in tool.out(
        "explain", "softmax:3x9:f32", *words
    )
    assert "matmul:3x9x5:f32 is one node" in tool.err(
        "explain", "matmul:3x9x5:f32", *words, code=2
    )

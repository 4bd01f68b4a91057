"""What a new user stumbled over, and no other file checks."""

import re
from pathlib import Path

import pytest

import morello
from morello.tools.morello import main
from tests.quality.compiled import unsearched
from tests.tool import Tool

Capture = pytest.CaptureFixture[str]

NONE = ("--db", "none", "--target", "avx2")


def test_explain_takes_an_open_layout(tool: Tool) -> None:
    assert tool.out("explain", "matmul:1x8x16:f32:rhs=any", *NONE).startswith(
        "matmul:1x8x16:f32"
    )


def test_words_stand_before_between_and_after_flags(tmp_path: Path, tool: Tool) -> None:
    db, first, second = (str(tmp_path / name) for name in ("db", "a", "b"))
    where = ["--db", db, "--target", "avx2"]
    assert "2 solved" in tool.out(
        "precompute", "fill:3:f32", *where, "fill:5:s32", "--jobs", "1"
    )
    for words in (
        ["export", "--programs", first, "--db", db],
        ["--db", db, "export", "--programs", second],
    ):
        assert "2 programs" in tool.out("db", *words)
    assert "unknown flag or one Spec too many: --frob" in tool.err(
        "db", "export", first, "--frob", "--db", db, code=2
    )


def test_the_page_of_explain_takes_the_width_of_the_window(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["explain", "fill:7:f32", "--html", str(page), *NONE]) == 0
    widest = max(map(int, re.findall(r"max-width: (\d+)px", page.read_text())))
    assert widest >= 2400


def test_handles_have_the_names_of_their_holes(tool: Tool) -> None:
    words = ["emit", "matmul:1x8x16:f32", "--stage", "schedule", *NONE]
    assert "%prologue, %body, %epilogue = " in tool.out(*words)


def test_an_object_names_its_source_after_the_kernel() -> None:
    kernel = unsearched("fill:3:f32", 0)
    assert f'source_filename = "{kernel.symbol}"' in kernel.llvm
    assert b"LLVMDialectModule" not in kernel.object


@pytest.mark.filterwarnings("default::morello.search.storage.overlay.DatabaseWarning")
def test_a_database_in_a_folder_that_is_not_there_makes_none(
    tmp_path: Path, tool: Tool
) -> None:
    path = tmp_path / "no" / "such" / "found.sqlite"
    words = ["emit", "fill:3:f32", "--stage", "schedule", "--target", "avx2"]
    assert f"there is no folder {path.parent}" in tool.err(
        *words, "--db", str(path), code=0
    )
    assert not list(tmp_path.iterdir())


def test_a_serial_program_costs_the_same_with_more_threads() -> None:
    one, two = (
        morello.compile("fill:30:f32", threads=threads, target="avx2", db="none")
        for threads in (1, 2)
    )
    assert two.threads == 1
    assert two.cost() == one.cost()

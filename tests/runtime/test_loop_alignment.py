"""The alignment of loops in machine code."""

import re

import pytest

from morello.runtime.engine import compile_object
from morello.runtime.loop_alignment import FREE, LINE, align_loops

pytestmark = pytest.mark.quick

_NEST = """
define void @sums(ptr %a, i64 %n) {
  br label %outer

outer:                                            ; preds = %next, %0
  %i = phi i64 [ 0, %0 ], [ %j, %next ]
  br label %inner

inner:                                            ; preds = %inner, %outer
  %k = phi i64 [ 0, %outer ], [ %l, %inner ]
  %at = getelementptr i64, ptr %a, i64 %k
  store volatile i64 %i, ptr %at, align 8
  %l = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %l, %n
  br i1 %more, label %inner, label %next

next:                                             ; preds = %inner
  %j = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %j, %n
  br i1 %again, label %outer, label %end

end:                                              ; preds = %next
  ret void
}
"""


def test_the_inner_loop_of_a_nest_begins_at_a_line() -> None:
    lines = [s for s in align_loops(_NEST).splitlines() if "!llvm.loop !" in s]
    assert lines == ["  br i1 %more, label %inner, label %next, !llvm.loop !1"]
    assembly = compile_object(align_loops(_NEST), cpu="haswell").assembly()
    aligned = re.findall(r"\.p2align\s+(\d+)[^\n]*\n\.LBB\w+:[^\n]*\n", assembly)
    assert str(LINE.bit_length() - 1) in aligned
    assert len(aligned) == 2


def test_aligning_twice_changes_nothing() -> None:
    once = align_loops(_NEST)
    assert align_loops(once) == once


def test_metadata_that_is_there_keeps_its_numbers() -> None:
    text = (
        _NEST
        + '\n!llvm.module.flags = !{!0, !7}\n!0 = !{}\n!7 = !{i32 2, !"a", i32 3}\n'
    )
    added = align_loops(text)
    assert "!llvm.loop !9" in added
    assert "!8 = " in added
    assert added.startswith(text.split("br i1")[0])


def test_a_loop_with_wishes_of_its_own_is_left_alone() -> None:
    text = _NEST.replace("label %next\n", "label %next, !llvm.loop !0\n", 1)
    text += "!0 = distinct !{!0}\n"
    assert align_loops(text) == text


def test_code_without_loops_stays_as_it_is() -> None:
    text = "define void @f() {\n  br label %end\n\nend:\n  ret void\n}\n"
    assert align_loops(text) == text


def test_labels_are_those_of_their_own_function() -> None:
    text = (
        "define void @f() {\n  br label %a\n\na:\n  ret void\n}\n\n"
        "define void @g() {\n  br label %b\n\nb:\n  br label %a\n\na:\n  ret void\n}\n"
    )
    assert align_loops(text) == text


def test_of_loops_that_one_branch_closes_the_nearest_counts() -> None:
    """A branch back to two blocks closes the loop of the later one; a block that a
    branch of another kind names, as that of a switch, is none."""
    text = """
define void @f(i1 %b) {
  br label %outer

outer:
  br label %inner

inner:
  br i1 %b, label %inner, label %outer

last:
  br i1 %b, label %last, label %end

end:
  ret void
}
"""
    lines = [s for s in align_loops(text).splitlines() if "!llvm.loop !" in s]
    assert lines == [
        "  br i1 %b, label %inner, label %outer, !llvm.loop !1",
        "  br i1 %b, label %last, label %end, !llvm.loop !2",
    ]
    switch = "define void @f(i32 %x) {\na:\n  switch i32 %x, label %a []\n}\n"
    assert align_loops(switch) == switch


def test_beside_loops_that_llvm_may_vectorise_all_others_refuse_it() -> None:
    closing = "label %inner, label %next"
    text = _NEST.replace("volatile ", "")
    free = text.replace("@sums", "@free").replace(closing, f"{closing}, !llvm.loop !0")
    both = align_loops(f'{text}{free}!0 = distinct !{{!0, !1}}\n!1 = !{{!"{FREE}"}}\n')
    assert both.count("!llvm.loop !") == 4  # the outer loop of each, too
    assert "distinct !{!4, !2, !3}" in both
    code = compile_object(both, cpu="haswell").llvm
    functions = code.split("define ")[1:]
    assert ["x i64>" in function for function in functions] == [False, True]

"""The llvm dialect to LLVM IR text."""

import pytest

from morello.errors import CompileError
from morello.mlir import ir
from morello.runtime import llvm_ir
from tests.child import resident
from tests.guarded import check_in_child

SOURCE = """
llvm.func @f(%a: !llvm.ptr {llvm.noalias}) {
  %k = llvm.mlir.constant(0.1 : f32) : f32
  %x = llvm.load %a : !llvm.ptr -> f32
  %y = llvm.fadd %x, %k : f32
  llvm.store %y, %a : f32, !llvm.ptr
  llvm.return
}"""


def translate(source: str) -> str:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(source)
        return llvm_ir.llvm_ir(module.operation)


def test_the_text_is_that_of_the_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    text = translate(SOURCE)
    assert "define void @f(ptr noalias %0)" in text
    assert llvm_ir._library() is not None
    monkeypatch.setattr(llvm_ir, "_library", lambda: None)
    monkeypatch.setattr(llvm_ir, "_operation_pointer", None)
    assert translate(SOURCE) == text


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            'llvm.func @f() attributes {passthrough = [["x"]]} { llvm.return }',
            "\"-\":1:1.*: expected 'passthrough' to contain string or array",
        ),
        (
            "llvm.func @f() {\n"
            '  llvm.call_intrinsic "llvm.nope"() : () -> ()\n'
            "  llvm.return\n}",
            '"-":2:3.*could not find LLVM intrinsic: "llvm.nope"',
        ),
    ],
)
def test_a_module_that_cannot_be_translated_is_an_error(
    source: str, reason: str
) -> None:
    # The bindings' own function would end the process here.
    with pytest.raises(CompileError, match=f"MLIR cannot translate .*{reason}"):
        translate(source)


def test_texts_are_freed() -> None:
    def growth() -> int:
        long = SOURCE.replace("@f", "@" + "f" * 100_000)
        for i in range(150):
            translate(long)
            if i == 50:
                before = resident()
        return resident() - before

    assert check_in_child(growth) < 2 << 20


def test_bindings_without_the_c_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(llvm_ir._SIGNATURES, "LLVMNoSuchFunction", (None, ()))
    llvm_ir._library.cache_clear()
    try:
        assert llvm_ir._library() is None
    finally:
        llvm_ir._library.cache_clear()

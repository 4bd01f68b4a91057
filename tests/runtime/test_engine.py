"""Compiling and loading LLVM IR."""

import gc
import weakref
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from morello.errors import CompileError, TargetError
from morello.machine import host
from morello.runtime.engine import (
    compile_for_linker,
    compile_llvm,
    compile_modules_for_linker,
    compile_object,
    load,
)
from morello.runtime.object_file import undefined_symbols
from tests.child import python, resident
from tests.guarded import check_in_child
from tests.runtime.build import raw
from tests.threads import in_threads

DOUBLE = """
define void @f(ptr noalias %a) {
  %x = load <8 x float>, ptr %a, align 4
  %y = fadd <8 x float> %x, %x
  store <8 x float> %y, ptr %a, align 4
  ret void
}
"""


def test_text_to_a_call() -> None:
    engine = compile_llvm(DOUBLE, cpu="haswell")
    values = np.arange(8, dtype=np.float32)
    raw(engine)(values)
    assert values.tolist() == list(range(0, 16, 2))
    assert "define void @f(" in engine.llvm
    assert "vaddps" in engine.asm
    assert engine.object == engine.compiled.object
    assert engine.object.startswith(b"\x7fELF")


def test_the_cpu_decides_the_instructions() -> None:
    narrow = compile_llvm(DOUBLE, cpu="x86-64").asm
    assert "ymm" not in narrow
    assert "ymm" not in compile_llvm(DOUBLE, cpu="haswell", features="-avx").asm


def test_assembly_of_a_function_that_nothing_is_known_of() -> None:
    text = "declare void @g()\ndefine void @f() {\n  call void @g()\n  ret void\n}\n"
    compiled = compile_object(text, cpu="haswell")
    assert "= { }" not in compiled.llvm
    assert "g" in compiled.assembly()


def loop(compute: str) -> str:
    """A function that stores ``%y``, made of ``%x``, for each of 4,096 elements."""
    return f"""
define void @f(ptr noalias %a, ptr noalias %b) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %p, align 4
  {compute}
  store float %y, ptr %q, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 4096
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}"""


def test_loops_are_not_vectorised_behind_the_schedule() -> None:
    text = loop("%y = fadd float %x, %x")
    assert " x float>" not in compile_llvm(text, cpu="haswell").llvm


def test_loops_stay_loops_behind_the_schedule() -> None:
    """A copy loop stays a loop, as its cost assumes; it does not become ``memcpy``."""
    compiled = compile_object(loop("").replace("%y", "%x"), cpu="haswell")
    assert compiled.calls == ()
    assert "no-builtins" not in compiled.llvm


def test_the_object_is_the_same_in_every_process() -> None:
    code = (
        "import hashlib, sys; from morello.runtime.engine import compile_object; "
        "c = compile_object(sys.stdin.read(), cpu='haswell'); "
        "print(hashlib.sha256(c.object).hexdigest())"
    )
    prints = {python("-c", code, check=True, input=DOUBLE).stdout for _ in range(2)}
    assert len(prints) == 1
    compiled = compile_object(DOUBLE, cpu="haswell")
    assert compiled == compile_object(DOUBLE, cpu="haswell")
    with pytest.raises(FrozenInstanceError):
        compiled.cpu = "x86-64"  # type: ignore[misc]


def test_functions_of_the_process_can_be_called() -> None:
    text = """
declare float @llvm.exp.f32(float)
define void @f(ptr %a) {
  %x = load float, ptr %a
  %y = call float @llvm.exp.f32(float %x)
  store float %y, ptr %a
  ret void
}"""
    engine = compile_llvm(text, cpu="haswell")
    assert undefined_symbols(engine.object) == ("expf",)
    values = np.zeros(1, np.float32)
    raw(engine)(values)
    assert values[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "define void @f(",
            r"(?s)LLVM cannot read the module: .*:1:16: error: expected",
        ),
        (
            "define void @f() { ret i32 0 }",
            r"(?s)cannot read the module: .* result type",
        ),
        (
            "declare void @nobody()\n"
            "define void @f() { call void @nobody()\n ret void }",
            "the code calls nobody, which this process does not have",
        ),
        (
            "define void @f(ptr %p, float %x) { %b = fptrunc float %x to bfloat\n"
            "store bfloat %b, ptr %p\n ret void }",
            "the code calls __truncsfbf2",
        ),
        (
            "define void @f(i64 %x) { %p = inttoptr i64 %x to ptr\n ret void }",
            "inttoptr: pointer arithmetic",
        ),
    ],
)
def test_wrong_llvm_ir_is_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_llvm(text, cpu="haswell")


@pytest.mark.parametrize(
    ("line", "reason"),
    [("%y = add i64 undef, 1", "undef"), ("%y = inttoptr i64 1 to ptr", "inttoptr")],
)
def test_hazards_of_kernels_are_refused_wherever_they_are_compiled(
    line: str, reason: str
) -> None:
    """Not what is around kernels, which is ours."""
    text = f"define void @f() {{\n{line}\nret void }}"
    right = text.replace(line, "")
    with pytest.raises(CompileError, match=reason):
        compile_object(text, cpu="haswell")
    with pytest.raises(CompileError, match=reason):
        compile_for_linker(text, "", cpu="haswell")
    for modules in ([right, text], [text, right]):
        with pytest.raises(CompileError, match=reason):
            compile_modules_for_linker([(m, "haswell", "") for m in modules], "")
    around = text.replace("@f", "@g")
    assert compile_for_linker(right, around, cpu="haswell").functions == ("f", "g")


def test_no_such_function() -> None:
    engine = compile_llvm(DOUBLE, cpu="haswell")
    with pytest.raises(CompileError, match="no function 'g'; it defines f"):
        engine.address("g")
    with pytest.raises(CompileError, match="it defines none"):
        compile_llvm("", cpu="haswell").address("g")


def test_no_such_level() -> None:
    with pytest.raises(CompileError, match="no optimisation level 4; use 0, 1, 2 or 3"):
        compile_llvm(DOUBLE, cpu="haswell", opt=4)


@pytest.mark.parametrize(
    ("cpu", "features", "message"),
    [
        ("pentium9", "", "unknown CPU 'pentium9'; use one of haswell, x86-64"),
        ("haswell", "+warp", r"unknown CPU feature '\+warp'; write \+name or -name"),
        ("haswell", "avx", "unknown CPU feature 'avx'"),
    ],
)
def test_unknown_targets(cpu: str, features: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        compile_llvm(DOUBLE, cpu=cpu, features=features)


def missing_feature() -> str:
    """A feature that LLVM has and this machine lacks."""
    here = host.host()
    return min(here.known_features - here.features)


def test_code_for_another_machine_compiles_but_does_not_load() -> None:
    name = missing_feature()
    compiled = compile_object(DOUBLE, cpu="haswell", features=f"+{name}")
    assert compiled.functions == ("f",)
    message = rf"cannot run code for haswell \+{name}: its CPU lacks {name}; compile"
    with pytest.raises(TargetError, match=message):
        load(compiled)
    with pytest.raises(TargetError, match=message):
        compile_llvm(DOUBLE, cpu="haswell", features=f"+{name}")


def test_a_machine_without_avx2_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    name, has, known = host._processor()
    old = (name, has - {"avx2", "fma"}, known)
    monkeypatch.setattr(host, "_processor", lambda: old)
    with pytest.raises(TargetError, match="haswell: its CPU lacks avx2, fma"):
        compile_llvm(DOUBLE, cpu="haswell")
    compile_llvm(DOUBLE, cpu="haswell", features="-avx2,-fma")


def test_concurrent_compiles() -> None:
    def work(seed: int) -> None:
        for i in range(10):
            text = DOUBLE.replace("%x, %x", f"%x, splat (float {seed}{i}.0)")
            values = np.zeros(8, np.float32)
            raw(compile_llvm(text, cpu="haswell"))(values)
            assert values.tolist() == [float(f"{seed}{i}")] * 8

    in_threads(work, range(1, 9))


def test_an_engine_is_freed_when_nobody_holds_it() -> None:
    engine = compile_llvm(DOUBLE, cpu="haswell")
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None


def test_an_engine_is_freed_with_the_cycle_that_holds_it() -> None:
    def drop() -> None:
        for _ in range(8):
            cycle: list[Any] = [compile_llvm(DOUBLE, cpu="haswell")]
            cycle.append(cycle)
        del cycle
        gc.collect()

    check_in_child(drop)


def test_compiling_and_dropping_does_not_grow_memory() -> None:
    for i in range(150):
        # A constant of its own each: a shared context would keep them all.
        text = DOUBLE.replace("%x, %x", f"%x, splat (float {i}.0)")
        compile_llvm(text, cpu="haswell")
        if i == 50:
            before = resident()
    assert resident() - before < 8 << 20

"""What a kernel may call."""

import pytest

from morello.errors import CompileError
from morello.runtime.runtime_calls import check_calls

pytestmark = pytest.mark.quick


def test_the_openmp_runtime_copies_and_intrinsics_may_be_called() -> None:
    check_calls(
        "declare void @__kmpc_barrier(ptr, i32)\n"
        "declare i32 @omp_get_thread_num()\n"
        "declare ptr @memcpy(ptr, ptr, i64)\n"
        "declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)\n"
        '@0 = private unnamed_addr constant [2 x i8] c"a\\00"\n'
        "define void @f() { ret void }\n"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("declare i32 @system(ptr)", "system"),
        ('declare i32 @"a b"(ptr)', "a b"),
        ("declare noalias ptr @malloc(i64 noundef)", "malloc"),
        ("declare i32 @omp_get_thread_number()", "omp_get_thread_number"),
        ("@environ = external global ptr", "environ"),
        ("@g = external thread_local global i32, align 4", "g"),
        ('module asm ".byte 0"', "assembly beside its functions"),
    ],
)
def test_another_use_is_refused_by_its_name(text: str, name: str) -> None:
    with pytest.raises(CompileError, match=rf"^the kernel uses {name}, which no k"):
        check_calls(f"target triple = 1\n{text}\n")

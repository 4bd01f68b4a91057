// The schedule written by hand applies, lowers to the llvm dialect, and is exact.
// RUN: %morello-opt %S/../../examples/hand_schedule.mlir -p 'builtin.module(morello-apply-schedule)' | FileCheck %s
// RUN: %morello-opt %S/../../examples/hand_schedule.mlir -p 'builtin.module(morello-apply-schedule,morello-lower-kernels,morello-plan-memory,morello-lower-to-llvm)' | FileCheck %s --check-prefix=LLVM
// RUN: %morello run matmul_accum:100x37x53:f32 --schedule %S/../../examples/hand_schedule.mlir | FileCheck %s --check-prefix=EXACT
// RUN: not %morello run matmul:100x37x53:f32 --schedule %S/../../examples/hand_schedule.mlir 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: %[[PANELS:.*]] = memref.alloc() : memref<1x3x37x16xf32>
// CHECK: "morello.kernel"({{.*}}) {kernel = "copy_rows"
// CHECK: memref.subview %[[PANELS]]
// CHECK: %[[TILE:.*]] = memref.alloca() : memref<1x6x2xvector<8xf32>>
// CHECK-NEXT: "morello.kernel"({{.*}}, %[[TILE]]) {kernel = "load"
// CHECK-NEXT: "morello.kernel"({{.*}}, %[[TILE]]) {kernel = "gemm_registers"
// CHECK-NEXT: "morello.kernel"(%[[TILE]], {{.*}}) {kernel = "store"
// CHECK: memref.alloca() : memref<1x4x2xvector<8xf32>>
// CHECK: memref.alloca() : memref<1x6x1xvector<8xf32>>
// CHECK: memref.alloca() : memref<1x4x1xvector<8xf32>>
// CHECK-NOT: "morello.matmul"
// CHECK-NOT: transform

// LLVM: llvm.func @product(
// LLVM: llvm.intr.{{fma|fmuladd}}

// EXACT: result{{ +}}exact

// OTHER: the schedule is for another Spec than matmul:1x100x37x53

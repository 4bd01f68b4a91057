// The schedule of docs/internals/worked-example.md, written by docs/generate.py.
// RUN: %morello-opt %s -p 'builtin.module(morello-synthesize)' | FileCheck %s

// CHECK: module attributes {morello.target = "avx2", transform.with_named_sequence} {
// CHECK-NEXT: func.func @matmul_6x64x33_f32_l1_128(%arg0: memref<1x6x64xf32>, %arg1: memref<1x64x33xf32>, %arg2: memref<1x6x33xf32>) {
// CHECK-NEXT: "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=128,l2=8192">, morello.id = 0 : i64, serial = true, sizes = array<i64: 1, 6, 64, 33>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x6x64xf32>, memref<1x64x33xf32>, memref<1x6x33xf32>) -> ()
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: transform.named_sequence @__transform_main(%arg0: !transform.any_op {transform.readonly}) {
// CHECK-NEXT: %0 = transform.structured.match ops{["morello.matmul"]} attributes {morello.id = 0 : i64} in %arg0 : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %1:3 = "morello_transform.move"(%0) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "lhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %2:3 = "morello_transform.move"(%1#1) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %3:3 = "morello_transform.move"(%2#1) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %4:3 = "morello_transform.move"(%3#1) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "lhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %5:2 = "morello_transform.tile"(%4#1) {dim = "n", size = 32 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %6:3 = "morello_transform.move"(%5#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %7:2 = "morello_transform.tile"(%6#1) {dim = "n", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %8:3 = "morello_transform.move"(%7#0) {layout = #morello.layout<"[0,1,2]">, level = "VRF", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %9:5 = "morello_transform.to_accum"(%8#1) : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %10 = "morello_transform.select"(%9#0) {kernel = "fill_registers"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %11:2 = "morello_transform.split"(%9#4) {dim = "k", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %12:3 = "morello_transform.move"(%11#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %13 = "morello_transform.select"(%12#1) {kernel = "gemm_registers"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %14 = "morello_transform.select"(%8#2) {kernel = "store"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %15:3 = "morello_transform.move"(%5#1) {layout = #morello.layout<"[0,2,1]">, level = "L1", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %16:2 = "morello_transform.tile"(%15#0) {dim = "d1", size = 6 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %17:3 = "morello_transform.move"(%16#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "src"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %18 = "morello_transform.select"(%17#1) {kernel = "transpose"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %19:3 = "morello_transform.move"(%16#1) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "src"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %20:2 = "morello_transform.tile"(%19#1) {dim = "d1", size = 1 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %21 = "morello_transform.select"(%20#0) {kernel = "scalar"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %22 = "morello_transform.select"(%15#1) {kernel = "gemv_dot"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: transform.yield
// CHECK-NEXT: }
// CHECK-NEXT: }

module attributes {morello.target = "avx2"} {
  func.func @matmul_6x64x33_f32_l1_128(%arg0: memref<1x6x64xf32>, %arg1: memref<1x64x33xf32>, %arg2: memref<1x6x33xf32>) {
    "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=128,l2=8192">, serial = true, sizes = array<i64: 1, 6, 64, 33>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x6x64xf32>, memref<1x64x33xf32>, memref<1x6x33xf32>) -> ()
    return
  }
}

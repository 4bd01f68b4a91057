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
// CHECK-NEXT: %5:2 = "morello_transform.tile"(%4#1) {dim = "n", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %6:3 = "morello_transform.move"(%5#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %7:3 = "morello_transform.move"(%6#1) {layout = #morello.layout<"[0,1,2]">, level = "VRF", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %8:5 = "morello_transform.to_accum"(%7#1) : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %9 = "morello_transform.select"(%8#0) {kernel = "fill_registers"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %10:2 = "morello_transform.split"(%8#4) {dim = "k", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %11:3 = "morello_transform.move"(%10#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %12 = "morello_transform.select"(%11#1) {kernel = "gemm_registers"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %13 = "morello_transform.select"(%7#2) {kernel = "store"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %14:3 = "morello_transform.move"(%5#1) {layout = #morello.layout<"[0,2,1]">, level = "L1", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %15:2 = "morello_transform.tile"(%14#0) {dim = "d1", size = 6 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %16:3 = "morello_transform.move"(%15#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "src"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %17 = "morello_transform.select"(%16#1) {kernel = "transpose"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %18:3 = "morello_transform.move"(%15#1) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "src"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %19:2 = "morello_transform.tile"(%18#1) {dim = "d1", size = 1 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %20 = "morello_transform.select"(%19#0) {kernel = "scalar"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %21 = "morello_transform.select"(%14#1) {kernel = "gemv_dot"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: transform.yield
// CHECK-NEXT: }
// CHECK-NEXT: }

module attributes {morello.target = "avx2"} {
  func.func @matmul_6x64x33_f32_l1_128(%arg0: memref<1x6x64xf32>, %arg1: memref<1x64x33xf32>, %arg2: memref<1x6x33xf32>) {
    "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=128,l2=8192">, serial = true, sizes = array<i64: 1, 6, 64, 33>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x6x64xf32>, memref<1x64x33xf32>, memref<1x6x33xf32>) -> ()
    return
  }
}

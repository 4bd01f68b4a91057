// The schedule that docs/worked-example.md explains; docs/generate.py writes this file.
// RUN: %morello-opt %s -p 'builtin.module(morello-synthesize)' | FileCheck %s

// CHECK: module attributes {morello.target = "avx2", transform.with_named_sequence} {
// CHECK-NEXT: func.func @matmul_7x64x17_f32_l1_128(%arg0: memref<1x7x64xf32>, %arg1: memref<1x64x17xf32>, %arg2: memref<1x7x17xf32>) {
// CHECK-NEXT: "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=128,l2=16384">, morello.id = 0 : i64, serial = true, sizes = array<i64: 1, 7, 64, 17>, tensors = [#morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x7x64xf32>, memref<1x64x17xf32>, memref<1x7x17xf32>) -> ()
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: transform.named_sequence @__transform_main(%arg0: !transform.any_op {transform.readonly}) {
// CHECK-NEXT: %0 = transform.structured.match ops{["morello.matmul"]} attributes {morello.id = 0 : i64} in %arg0 : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %1:3 = "morello_transform.move"(%0) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "lhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %2:3 = "morello_transform.move"(%1#1) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "lhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %3:3 = "morello_transform.move"(%2#1) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %4:3 = "morello_transform.move"(%3#1) {layout = #morello.layout<"[0,1,2]">, level = "L2", operand = "out"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %5:2 = "morello_transform.tile"(%4#1) {dim = "n", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %6:2 = "morello_transform.tile"(%5#0) {dim = "m", size = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %7 = "morello_transform.select"(%6#0) {kernel = "matmul_axpy"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %8 = "morello_transform.select"(%6#1) {kernel = "matmul_axpy"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %9:3 = "morello_transform.move"(%5#1) {layout = #morello.layout<"[0,2,1]">, level = "L1", operand = "rhs"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %10:2 = "morello_transform.tile"(%9#0) {dim = "d1", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
// CHECK-NEXT: %11:3 = "morello_transform.move"(%10#0) {layout = #morello.layout<"[0,1,2]">, level = "L1", operand = "src"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT: %12 = "morello_transform.select"(%11#1) {kernel = "move_transpose"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: %13 = "morello_transform.select"(%9#1) {kernel = "matmul_dot"} : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT: transform.yield
// CHECK-NEXT: }
// CHECK-NEXT: }

module attributes {morello.target = "avx2"} {
  func.func @matmul_7x64x17_f32_l1_128(%arg0: memref<1x7x64xf32>, %arg1: memref<1x64x17xf32>, %arg2: memref<1x7x17xf32>) {
    "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=128,l2=16384">, serial = true, sizes = array<i64: 1, 7, 64, 17>, tensors = [#morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x7x64xf32>, memref<1x64x17xf32>, memref<1x7x17xf32>) -> ()
    return
  }
}

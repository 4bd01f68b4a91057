// morello_transform.peel: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f(
// CHECK: [[FA:%.+]] = memref.subview %arg0[0, 0, 0] [1, 6, 3]
// CHECK: [[FB:%.+]] = memref.subview %arg1[0, 0, 0] [1, 3, 16]
// CHECK: "morello.matmul"([[FA]], [[FB]], %arg2)
// CHECK-SAME: accum = false
// CHECK-SAME: first
// CHECK-SAME: sizes = array<i64: 1, 6, 3, 16>
// CHECK: scf.for [[I:%.+]] = %c3 to %c9 step %c3{{.*}} {
// CHECK: [[TA:%.+]] = memref.subview %arg0[0, 0, [[I]]] [1, 6, 3]
// CHECK: [[TB:%.+]] = memref.subview %arg1[0, [[I]], 0] [1, 3, 16]
// CHECK: "morello.matmul"([[TA]], [[TB]], %arg2)
// CHECK-SAME: accum = true
// CHECK-SAME: main, serial = true, sizes = array<i64: 1, 6, 3, 16>
// CHECK: }
// CHECK: [[RA:%.+]] = memref.subview %arg0[0, 0, 9] [1, 6, 1]
// CHECK: [[RB:%.+]] = memref.subview %arg1[0, 9, 0] [1, 1, 16]
// CHECK: "morello.matmul"([[RA]], [[RB]], %arg2)
// CHECK-SAME: accum = true
// CHECK-SAME: remainder
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x10xf32>, %b: memref<1x10x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 10, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x10xf32>, memref<1x10x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.peel"(%0) {dim = "k", size = 3 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "first" : !transform.any_op
  transform.annotate %r#1 "main" : !transform.any_op
  transform.annotate %r#2 "remainder" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Two parts: no loop.
// CHECK-LABEL: func.func @two(
// CHECK: "morello.compose"({{.*}}output = "overwrite", reduction = "max"{{.*}}sizes = array<i64: 6, 5>
// CHECK-NOT: scf.for
// CHECK: memref.subview %arg0[0, 5] [6, 5]
// CHECK: "morello.compose"({{.*}}output = "accumulate", reduction = "max"{{.*}}sizes = array<i64: 6, 5>
// CHECK-NOT: morello.compose
// CHECK: return
module attributes {transform.with_named_sequence} {
func.func @two(%a: memref<6x10xf32>, %b: memref<6xf32>) {
  "morello.compose"(%a, %b) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "max"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 6, 10>, tensors = [#g2, #g1]} : (memref<6x10xf32>, memref<6xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.peel"(%0) {dim = "d1", size = 5 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{matmul_accum is no reduction that overwrites its output}}
  %r:3 = "morello_transform.peel"(%0) {dim = "k", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'m' is not a reduction of matmul; those are: k}}
  %r:3 = "morello_transform.peel"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

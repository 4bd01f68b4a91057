// morello_transform.taps: before and after, and a refusal.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A row has the first tap inside the image but the first, the last tap but the last.
// CHECK-LABEL: func.func @f(
// CHECK: [[W:%.+]] = memref.subview %arg0[0] [1] [1]
// CHECK: [[X:%.+]] = memref.subview %arg1[0] [55] [1]
// CHECK: [[Y:%.+]] = memref.subview %arg2[1] [55] [1]
// CHECK: "morello.compose"([[W]], [[X]], [[Y]]) {before, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", 0, 1], map = #map{{[0-9]*}}, output = "accumulate", reduction = "sum"}]}
// CHECK-SAME: sizes = array<i64: 55, 1>
// CHECK: [[W:%.+]] = memref.subview %arg0[1] [1] [1]
// CHECK: "morello.compose"([[W]], {{%.+}}, {{%.+}}) {graph
// CHECK-SAME: main
// CHECK-SAME: sizes = array<i64: 56, 1>
// CHECK: [[W:%.+]] = memref.subview %arg0[2] [1] [1]
// CHECK: [[X:%.+]] = memref.subview %arg1[1] [55] [1]
// CHECK: [[Y:%.+]] = memref.subview %arg2[0] [55] [1]
// CHECK: "morello.compose"([[W]], [[X]], [[Y]]) {after, graph
// CHECK-SAME: sizes = array<i64: 55, 1>
// CHECK-NOT: transform
module attributes {transform.with_named_sequence, morello.target = "avx2"} {
func.func @f(%w: memref<3xf32>, %x: memref<56xf32>, %y: memref<56xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {after = [array<i64: 0>, array<i64: 1>], inputs = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0 + d1 - 1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 56, 3>, tensors = [#g1, #g1, #g1]} : (memref<3xf32>, memref<56xf32>, memref<56xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:7 = "morello_transform.taps"(%0) {dim = "d0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "before" : !transform.any_op
  transform.annotate %r#3 "main" : !transform.any_op
  transform.annotate %r#4 "after" : !transform.any_op
  transform.yield
}
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence, morello.target = "avx2"} {
func.func @f(%w: memref<3xf32>, %x: memref<56xf32>, %y: memref<56xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {after = [array<i64: 0>, array<i64: 1>], inputs = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0 + d1 - 1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 56, 3>, tensors = [#g1, #g1, #g1]} : (memref<3xf32>, memref<56xf32>, memref<56xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{compose overwrites an output: let it add first}}
  %r:7 = "morello_transform.taps"(%0) {dim = "d0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// morello_transform.drop: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// One tap is none: the window is a dimension, the filter has no axis for it.
// CHECK-LABEL: func.func @f(
// CHECK: [[W:%.+]] = memref.subview %arg0[0, 0, 0] [8, 3, 1] [1, 1, 1] : memref<8x3x1xf32> to memref<8x3xf32
// CHECK: "morello.compose"([[W]], %arg1, %arg2) {body, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", 0, 1], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
// CHECK-SAME: sizes = array<i64: 8, 9, 3>
// CHECK-SAME: "f32", "MEM", #morello.layout<"[0,1]">, true
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<8x3x1xf32>, %x: memref<3x9xf32>, %y: memref<8x9xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d1 + d3)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3) -> (d0, d1)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 9, 3, 1>, tensors = [#g3, #g2, #g2]} : (memref<8x3x1xf32>, memref<3x9xf32>, memref<8x9xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.drop"(%0) {dim = "d3"} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<8x3x2xf32>, %x: memref<3x9xf32>, %y: memref<8x8xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d1 + d3)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3) -> (d0, d1)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 8, 3, 2>, tensors = [#g3, #g2, #g2]} : (memref<8x3x2xf32>, memref<3x9xf32>, memref<8x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{needs d3 = 1: tile or split it to 1}}
  %r = "morello_transform.drop"(%0) {dim = "d3"} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

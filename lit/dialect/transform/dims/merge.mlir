// morello_transform.merge: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Seven taps by three channels side by side: 21 numbers for each column, every six.
// CHECK-LABEL: func.func @f(
// CHECK: [[X:%.+]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: [9, 4, 21], strides: [39, 6, 1]
// CHECK: [[W:%.+]] = memref.collapse_shape %arg0 {{.*}} into memref<8x7x21xf32>
// CHECK: "morello.compose"([[W]], [[X]], %arg2) {body, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", 0, 1], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
// CHECK-SAME: sizes = array<i64: 8, 3, 4, 7, 21>
// CHECK-SAME: #morello.layout<"[0,1,2]">, false, 0
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<8x7x7x3xf32>, %x: memref<9x13x3xf32>, %y: memref<3x4x8xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 + d3, d2 * 2 + d4, d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d0)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 3, 4, 7, 7, 3>, tensors = [#g4, #g3, #g3]} : (memref<8x7x7x3xf32>, memref<9x13x3xf32>, memref<3x4x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.merge"(%0) {} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<8x3x7x7xf32>, %x: memref<3x9x13xf32>, %y: memref<8x3x4xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 * 2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 3, 4, 3, 7, 7>, tensors = [#g4, #g3, #g3]} : (memref<8x3x7x7xf32>, memref<3x9x13xf32>, memref<8x3x4xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{bring it to the layout [1,2,0] first (pad)}}
  %r = "morello_transform.merge"(%0) {} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// morello_transform.squeeze: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#r4 = #morello.tensor<"f32", "MEM", #morello.layout<"[2,3,1,0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// One row, one tap: the axes that vanish are cut away, the batch of a product is added.
// CHECK-LABEL: func.func @f(
// CHECK: memref.subview %arg0[0, 0, 0, 0] [1, 1, 5, 4]
// CHECK: [[W:%.+]] = memref.expand_shape {{.*}} into memref<1x5x4xf32
// CHECK: memref.subview %arg1[0, 0, 0] [5, 1, 7]
// CHECK: [[X:%.+]] = memref.expand_shape {{.*}} into memref<1x5x7xf32
// CHECK: [[Y:%.+]] = memref.expand_shape {{.*}} into memref<1x4x7xf32
// CHECK: "morello.matmul"([[W]], [[X]], [[Y]]) {accum = true, body, {{.*}}sizes = array<i64: 1, 4, 5, 7>
// CHECK-SAME: #morello.layout<"[0,2,1]">
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<1x1x5x4xf32>, %x: memref<5x1x7xf32>, %y: memref<4x1x7xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 1, 7, 5, 1, 1>, tensors = [#r4, #g3, #g3]} : (memref<1x1x5x4xf32>, memref<5x1x7xf32>, memref<4x1x7xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.squeeze"(%0) {} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#r4 = #morello.tensor<"f32", "MEM", #morello.layout<"[2,3,1,0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<1x1x5x4xf32>, %x: memref<5x3x7xf32>, %y: memref<4x3x7xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 3, 7, 5, 1, 1>, tensors = [#r4, #g3, #g3]} : (memref<1x1x5x4xf32>, memref<5x3x7xf32>, memref<4x3x7xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{needs d1 = 1: tile or split it to 1}}
  %r = "morello_transform.squeeze"(%0) {} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#r4 = #morello.tensor<"f32", "MEM", #morello.layout<"[2,3,1,0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<4x5x1x1xf32>, %x: memref<5x1x7xf32>, %y: memref<4x1x7xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 1, 7, 5, 1, 1>, tensors = [#g4, #g3, #g3]} : (memref<4x5x1x1xf32>, memref<5x1x7xf32>, memref<4x1x7xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{neighbours of 'x0' lie along a dimension that would vanish: move it to another layout first}}
  %r = "morello_transform.squeeze"(%0) {} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

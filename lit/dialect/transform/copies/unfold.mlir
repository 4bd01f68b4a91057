// morello_transform.unfold: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Every window of the image, side by side: a view that overlaps itself is copied.
// CHECK-LABEL: func.func @f(
// CHECK: [[B:%.+]] = memref.alloc() : memref<3x2x5x8x9xf32>
// CHECK: [[X:%.+]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: [3, 2, 5, 8, 9], strides: [117, 13, 1, 13, 1]
// CHECK: "morello.move"([[X]], [[B]]) {copy,
// CHECK-SAME: #morello.layout<"[0,1,2,3,4]">, false, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3,4]">, true, 0 : i64>
// CHECK: "morello.compose"(%arg0, [[B]], %arg2) {body, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", 0, 1], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<4x3x2x5xf32>, %x: memref<3x9x13xf32>, %y: memref<4x8x9xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 8, 9, 3, 2, 5>, tensors = [#g4, #g3, #g3]} : (memref<4x3x2x5xf32>, memref<3x9x13xf32>, memref<4x8x9xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.unfold"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "copy" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// In steps of two the taps of a row are neighbours: the copy turns them.
// CHECK-LABEL: func.func @f(
// CHECK: [[B:%.+]] = memref.alloc() : memref<3x2x5x8x5xf32>
// CHECK: [[X:%.+]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: [3, 2, 8, 5, 5], strides: [117, 13, 13, 2, 1]
// CHECK: "morello.move"([[X]], [[B]]) {copy,
// CHECK-SAME: #morello.layout<"[0,1,3,4,2]">, false, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3,4]">, true, 0 : i64>
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<4x3x2x5xf32>, %x: memref<3x9x13xf32>, %y: memref<4x8x5xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 * 2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 8, 5, 3, 2, 5>, tensors = [#g4, #g3, #g3]} : (memref<4x3x2x5xf32>, memref<3x9x13xf32>, memref<4x8x5xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.unfold"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "copy" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#t3 = #morello.tensor<"f32", "MEM", #morello.layout<"[1,2,0]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<4x3x2x5xf32>, %x: memref<9x13x3xf32>, %y: memref<4x8x9xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 8, 9, 3, 2, 5>, tensors = [#g4, #t3, #g3]} : (memref<4x3x2x5xf32>, memref<9x13x3xf32>, memref<4x8x9xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'x1' has gaps, or another layout than its own: pad it first}}
  %r:2 = "morello_transform.unfold"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "copy" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.yield
}
}

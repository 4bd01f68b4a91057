// morello_transform.collapse: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Tokens of all sequences are rows of one matrix.
// CHECK-LABEL: func.func @f(
// CHECK: [[X:%.+]] = memref.collapse_shape %arg0 {{.*}} into memref<8x5xf32>
// CHECK: [[Y:%.+]] = memref.collapse_shape %arg2 {{.*}} into memref<8x7xf32>
// CHECK: "morello.compose"([[X]], %arg1, [[Y]]) {body, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", 0, 1], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
// CHECK-SAME: sizes = array<i64: 8, 7, 5>
module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<2x4x5xf32>, %w: memref<5x7xf32>, %y: memref<2x4x7xf32>) {
  "morello.compose"(%x, %w, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 2, 4, 7, 5>, tensors = [#g4, #g2, #g4]} : (memref<2x4x5xf32>, memref<5x7xf32>, memref<2x4x7xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.collapse"(%0) {outer = "d0", inner = "d1"} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,3]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A view that another action has left: its strides are written out.
// CHECK-LABEL: func.func @dropped(
// CHECK: [[V:%.+]] = memref.subview %arg0{{.*}} to memref<2x4x5xf32, strided<[20, 5, 1]>>
// CHECK: memref.collapse_shape [[V]] {{.*}} into memref<8x5xf32, strided<[5, 1]>>
module attributes {transform.with_named_sequence} {
func.func @dropped(%x: memref<2x4x1x5xf32>, %w: memref<5x7xf32>, %y: memref<2x4x7xf32>) {
  "morello.compose"(%x, %w, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d4, d2)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 2, 4, 7, 1, 5>, tensors = [#g4, #g2, #g3]} : (memref<2x4x1x5xf32>, memref<5x7xf32>, memref<2x4x7xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %d = "morello_transform.drop"(%0) {dim = "d3"} : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.collapse"(%d) {outer = "d0", inner = "d1"} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#g4 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<2x4x5xf32>, %w: memref<5x7xf32>, %y: memref<2x4x7xf32>) {
  "morello.compose"(%x, %w, %y) {graph = {inputs = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 2, 4, 7, 5>, tensors = [#g4, #g2, #g4]} : (memref<2x4x5xf32>, memref<5x7xf32>, memref<2x4x7xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{a value has, or reduces, d1 without d2}}
  %r = "morello_transform.collapse"(%0) {outer = "d1", inner = "d2"} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "body" : !transform.any_op
  transform.yield
}
}

// -----

#map2 = affine_map<(d0, d1) -> (d0, d1)>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A call has so many rows, of 6 elements each: a loop over all elements counts these.
// CHECK-LABEL: func.func @elements(
// CHECK-SAME: [[ROWS:%[^:]+]]: index)
// CHECK: [[SIX:%.+]] = arith.constant 6 : index
// CHECK: [[ALL:%.+]] = arith.muli [[ROWS]], [[SIX]] : index
// CHECK: [[EIGHT:%.+]] = arith.constant 8 : index
// CHECK: [[REST:%.+]] = arith.remui [[ALL]], [[EIGHT]] : index
// CHECK: [[END:%.+]] = arith.subi [[ALL]], [[REST]] : index
// CHECK: scf.for {{.*}} to [[END]] step
// CHECK: } {morello.trips = 6 : i64}
// CHECK: memref.subview %{{.+}}{{\[}}[[END]]] [6] [1]
// CHECK: morello.size = [array<i64: 0, 6, -6, 8>], operandSegmentSizes = {{.*}}, ranges = "d0=2..6/2", remainder
module attributes {transform.with_named_sequence} {
func.func @elements(%x: memref<9x6xf32>, %w: memref<9x6xf32>, %y: memref<9x6xf32>, %m: index) attributes {morello.sizes = [array<i64>]} {
  "morello.compose"(%x, %w, %y) {graph = {inputs = [#map2, #map2], nodes = [{body = ["mul", 0, 1], map = #map2, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, ranges = "d0=2..9", serial = true, sizes = array<i64: 9, 6>, tensors = [#g2, #g2, #g2]} : (memref<9x6xf32>, memref<9x6xf32>, memref<9x6xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.collapse"(%0) {outer = "d0", inner = "d1"} : (!transform.any_op) -> !transform.any_op
  %t:2 = "morello_transform.tile"(%r) {dim = "d0", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %t#1 "remainder" : !transform.any_op
  transform.yield
}
}

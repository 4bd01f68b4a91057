// morello_transform.pad: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Zeros all around, then the middle: a buffer that is one longer at both ends.
// CHECK-LABEL: func.func @f(
// CHECK: [[B:%.+]] = memref.alloc() : memref<4x12xf32>
// CHECK: [[M:%.+]] = memref.subview [[B]][0, 1] [4, 10] [1, 1]
// CHECK: "morello.fill"([[B]]) {{.*}}sizes = array<i64: 4, 12>{{.*}}value = "zero"
// CHECK: "morello.move"(%arg1, [[M]]) {{.*}}sizes = array<i64: 4, 10>
// CHECK: "morello.compose"(%arg0, [[B]], %arg2) {body, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", 0, 1], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<3xf32>, %x: memref<4x10xf32>, %y: memref<4x10xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {after = [array<i64: 0>, array<i64: 0, 1>], inputs = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1 + d2 - 1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 10, 3>, tensors = [#g1, #g2, #g2]} : (memref<3xf32>, memref<4x10xf32>, memref<4x10xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.pad"(%0) {level = "MEM", layout = #morello.layout<"[0,1]">, operand = "x1"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#2 "body" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<3xf32>, %x: memref<4x10xf32>, %y: memref<4x10xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {after = [array<i64: 0>, array<i64: 0, 1>], inputs = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1 + d2 - 1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 10, 3>, tensors = [#g1, #g2, #g2]} : (memref<3xf32>, memref<4x10xf32>, memref<4x10xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{no window of compose reaches beyond 'x0', and its layout is [0] already}}
  %r:3 = "morello_transform.pad"(%0) {level = "MEM", layout = #morello.layout<"[0]">, operand = "x0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#2 "body" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<3xf32>, %x: memref<4x10xf32>, %y: memref<4x10xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {after = [array<i64: 0>, array<i64: 0, 1>], inputs = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1 + d2 - 1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 10, 3>, tensors = [#g1, #g2, #g2]} : (memref<3xf32>, memref<4x10xf32>, memref<4x10xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{it has no operand 'x7'; those are: x0, x1, v0}}
  %r:3 = "morello_transform.pad"(%0) {level = "MEM", layout = #morello.layout<"[0,1]">, operand = "x7"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#2 "body" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Another layout, and nothing around: a copy alone, and no fill.
// CHECK-LABEL: func.func @f(
// CHECK: [[B:%.+]] = memref.alloc() : memref<12x4xf32>
// CHECK-NOT: morello.fill
// CHECK: "morello.move"(%arg1, [[B]]) {{.*}}sizes = array<i64: 4, 12>
// CHECK-SAME: #morello.tensor<"f32", "MEM", #morello.layout<"[1,0]">, true, 0
// CHECK: "morello.compose"(%arg0, [[B]], %arg2) {body
module attributes {transform.with_named_sequence} {
func.func @f(%w: memref<3xf32>, %x: memref<4x12xf32>, %y: memref<4x10xf32>) {
  "morello.compose"(%w, %x, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1 + d2)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 4, 10, 3>, tensors = [#g1, #g2, #g2]} : (memref<3xf32>, memref<4x12xf32>, memref<4x10xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.pad"(%0) {level = "MEM", layout = #morello.layout<"[1,0]">, operand = "x1"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#2 "body" : !transform.any_op
  transform.yield
}
}


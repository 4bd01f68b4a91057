// morello_transform.to_accum: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f(
// CHECK: "morello.fill"(%arg2) {init
// CHECK-SAME: sizes = array<i64: 1, 6, 16>
// CHECK-SAME: value = "zero"
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2) {accum = true, body
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:5 = "morello_transform.to_accum"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "init" : !transform.any_op
  transform.annotate %r#4 "body" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f(
// CHECK: "morello.fill"(%arg1)
// CHECK-SAME: sizes = array<i64: 8>
// CHECK-SAME: value = "lowest"
// CHECK: "morello.compose"(%arg0, %arg1) {graph = {inputs = [#map{{[0-9]*}}], nodes = [{body = 0 : i64, map = #map{{[0-9]*}}, output = "accumulate", reduction = "max"}]}
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<8x16xf32>, %b: memref<8xf32>) {
  "morello.compose"(%a, %b) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "max"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1]} : (memref<8x16xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:5 = "morello_transform.to_accum"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{matmul_accum is not a reduction that overwrites its output}}
  %r:5 = "morello_transform.to_accum"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Two outputs, and a maximum inside that they are relative to: it gets a buffer. Three
// fills, each with the neutral element of its reduction.
// CHECK-LABEL: func.func @state(
// CHECK: [[M:%.+]] = memref.alloc() : memref<8xf32>
// CHECK-DAG: "morello.fill"([[M]]) {{.*}}value = "lowest"
// CHECK-DAG: "morello.fill"(%arg1) {{.*}}value = "zero"
// CHECK-DAG: "morello.fill"(%arg2) {{.*}}value = "zero"
// CHECK: "morello.compose"(%arg0, [[M]], %arg1, %arg2) {body, graph = {inputs = [#map{{[0-9]*}}], nodes = [{body = 0 : i64, map = #map{{[0-9]*}}, output = "accumulate", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = #map{{[0-9]*}}, reduction = "map"}, {body = 2 : i64, map = #map{{[0-9]*}}, output = "accumulate", reduction = "sum"}, {body = ["mul", 0, 2], map = #map{{[0-9]*}}, output = "accumulate", reduction = "sum"}]}
module attributes {transform.with_named_sequence} {
func.func @state(%x: memref<8x33xf32>, %l: memref<8xf32>, %o: memref<8xf32>) {
  "morello.compose"(%x, %l, %o) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}, {body = ["mul", 0, 2], map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g1, #g1]} : (memref<8x33xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:5 = "morello_transform.to_accum"(%0) {} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#4 "body" : !transform.any_op
  transform.yield
}
}

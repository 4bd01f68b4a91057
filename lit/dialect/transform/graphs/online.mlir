// morello_transform.online: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// What is -inf counts as the lowest finite number: factors are 0 or 1, not NaN.
// CHECK-LABEL: func.func @f(
// CHECK: [[OLD:%.+]] = memref.alloc() : memref<8xf32>
// CHECK: "morello.move"(%arg1, [[OLD]]) {{.*}}save{{.*}}sizes = array<i64: 8>
// CHECK: "morello.compose"(%arg0, %arg1) {graph = {inputs = [#map{{[0-9]*}}], nodes = [{body = 0 : i64, map = #map{{[0-9]*}}, output = "accumulate", reduction = "max"}]}
// CHECK-SAME: settle
// CHECK: "morello.compose"({{.*}}) {graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["mul", {{[0-2]}}, ["exp", ["sub", ["maximum", {{[0-2]}}, -3.4028234663852886E+38], ["maximum", {{[0-2]}}, -3.4028234663852886E+38]]]], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}]}
// CHECK-SAME: rescale
// CHECK: "morello.compose"(%arg0, %arg1, %arg2) {graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["exp", ["sub", 0, ["maximum", 1, -3.4028234663852886E+38]]], map = #map{{[0-9]*}}, output = "accumulate", reduction = "sum"}]}
// CHECK-SAME: rest
module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:4 = "morello_transform.online"(%0) {value = "v0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "save" : !transform.any_op
  transform.annotate %r#1 "settle" : !transform.any_op
  transform.annotate %r#2 "rescale" : !transform.any_op
  transform.annotate %r#3 "rest" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{it has no node 'v9'; those are: v0, v1}}
  %r:4 = "morello_transform.online"(%0) {value = "v9"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "save" : !transform.any_op
  transform.annotate %r#1 "settle" : !transform.any_op
  transform.annotate %r#2 "rescale" : !transform.any_op
  transform.annotate %r#3 "rest" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'v1' is no maximum that is added to, of maps, and to which only sums are relative that are added to as well}}
  %r:4 = "morello_transform.online"(%0) {value = "v1"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "save" : !transform.any_op
  transform.annotate %r#1 "settle" : !transform.any_op
  transform.annotate %r#2 "rescale" : !transform.any_op
  transform.annotate %r#3 "rest" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "max"}, {body = ["tanh", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'v0' is no maximum that is added to, of maps, and to which only sums are relative that are added to as well}}
  %r:4 = "morello_transform.online"(%0) {value = "v0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "save" : !transform.any_op
  transform.annotate %r#1 "settle" : !transform.any_op
  transform.annotate %r#2 "rescale" : !transform.any_op
  transform.annotate %r#3 "rest" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'v0' is no maximum that is added to, of maps, and to which only sums are relative that are added to as well}}
  %r:4 = "morello_transform.online"(%0) {value = "v0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "save" : !transform.any_op
  transform.annotate %r#1 "settle" : !transform.any_op
  transform.annotate %r#2 "rescale" : !transform.any_op
  transform.annotate %r#3 "rest" : !transform.any_op
  transform.yield
}
}

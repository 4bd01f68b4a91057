// morello_transform.cut_in_place: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Exponentials into the output, sums into a buffer of rows; no limit is lower.
// CHECK-LABEL: func.func @softmax(
// CHECK: [[L:%.+]] = memref.alloc() : memref<8xf32>
// CHECK-NOT: memref.alloc
// CHECK: "morello.compose"(%arg0, %arg1, [[L]]) {graph = {inputs = [#map{{[0-9]*}}], nodes = [{body = 0 : i64, map = #map{{[0-9]*}}, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}, {body = 2 : i64, map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}, limits = #morello.limits<"vrf=16,l1=512,l2=8192">
// CHECK-SAME: producers
// CHECK: "morello.compose"(%arg1, [[L]], %arg1) {consumers, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["div", 0, 1], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}]}
module attributes {transform.with_named_sequence} {
func.func @softmax(%a0: memref<8x33xf32>, %a1: memref<8x33xf32>) {
  "morello.compose"(%a0, %a1) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0,v1,v2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A product into the output, which an epilogue then goes over.
// CHECK-LABEL: func.func @epilogue(
// CHECK-NOT: memref.alloc
// CHECK: [[P:%.+]] = memref.expand_shape %arg3 {{.*}} into memref<1x8x16xf32>
// CHECK: "morello.matmul"({{.*}}, {{.*}}, [[P]]) {{.*}}producers
// CHECK: "morello.compose"(%arg3, %arg2, %arg3) {consumers, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["gelu", ["add", 0, 1]], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}]}
module attributes {transform.with_named_sequence} {
func.func @epilogue(%a0: memref<8x33xf32>, %a1: memref<33x16xf32>, %a2: memref<16xf32>, %a3: memref<8x16xf32>) {
  "morello.compose"(%a0, %a1, %a2, %a3) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @reduces(%a0: memref<8x33xf32>, %a1: memref<8x33xf32>) {
  "morello.compose"(%a0, %a1) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{what is left reduces something: other elements may be read later}}
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0,v1"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @rows(%a0: memref<8x33xf32>, %a1: memref<8x33xf32>) {
  "morello.compose"(%a0, %a1) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{0 temporaries are more than rows: one is to be in place}}
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @unknown(%a0: memref<8x33xf32>, %a1: memref<8x33xf32>) {
  "morello.compose"(%a0, %a1) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{it has no node 'v7'; those are: v0, v1, v2, v3}}
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v7"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @turned(%a0: memref<8x33xf32>, %a1: memref<33x16xf32>, %a2: memref<16x8xf32>) {
  "morello.compose"(%a0, %a1, %a2) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", 2], map = affine_map<(d0, d1, d2) -> (d1, d0)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'v1' has not the dimensions of 'v0', in their order}}
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @narrow(%a0: memref<8x33xf32>, %a1: memref<8x33xbf16>) {
  "morello.compose"(%a0, %a1) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1]">, true, 0>]} : (memref<8x33xf32>, memref<8x33xbf16>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'v3' is bf16: it cannot hold 'v1'}}
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0,v1,v2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @two(%a0: memref<8x33xf32>, %a1: memref<8x33xf32>, %a2: memref<8x33xf32>) {
  "morello.compose"(%a0, %a1, %a2) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}, {body = ["add", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{what is left has not one output, which it overwrites}}
  %r:2 = "morello_transform.cut_in_place"(%0) {nodes = "v0,v1,v2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// morello_transform.cut: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A temporary in memory: no limit is lower.
// CHECK-LABEL: func.func @memory(
// CHECK: [[T:%.+]] = memref.alloc() : memref<8x16xf32>
// CHECK: [[P:%.+]] = memref.expand_shape [[T]] {{.*}} into memref<1x8x16xf32>
// CHECK: "morello.matmul"({{.*}}, {{.*}}, [[P]]) {accum = false, limits = #morello.limits<"vrf=16,l1=512,l2=8192">, producers, {{.*}}sizes = array<i64: 1, 8, 33, 16>
// CHECK: "morello.compose"([[T]], %arg2, %arg3) {consumers, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["gelu", ["add", 0, 1]], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}]}, limits = #morello.limits<"vrf=16,l1=512,l2=8192">
// CHECK-NOT: morello.compose
// CHECK: return
module attributes {transform.with_named_sequence} {
func.func @memory(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0", again = "", level = "MEM", layout = #morello.layout<"[0,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// In L2 both halves have what is left: 8192 - 8 lines, rounded down to a class.
// CHECK-LABEL: func.func @l2(
// CHECK: memref.alloc() : memref<8x16xf32>
// CHECK: "morello.matmul"({{.*}}l2=4096">, producers{{.*}}#morello.tensor<"f32", "L2"
// CHECK: "morello.compose"({{.*}}l2=4096">{{.*}}tensors = [#morello.tensor<"f32", "L2"
module attributes {transform.with_named_sequence} {
func.func @l2(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0", again = "", level = "L2", layout = #morello.layout<"[0,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// In registers: vectors on the stack.
// CHECK-LABEL: func.func @registers(
// CHECK: [[T:%.+]] = memref.alloca() : memref<8x2xvector<8xf32>>
// CHECK: "morello.matmul"({{.*}}vrf=0,{{.*}}producers{{.*}}#morello.tensor<"f32", "VRF"
// CHECK: "morello.compose"([[T]], %arg2, %arg3) {{.*}}vrf=0,{{.*}}tensors = [#morello.tensor<"f32", "VRF"
module attributes {transform.with_named_sequence} {
func.func @registers(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0", again = "", level = "VRF", layout = #morello.layout<"[0,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "producers" : !transform.any_op
  transform.annotate %r#1 "consumers" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Exponentials again: maxima and sums are the temporaries, rows in L1.
// CHECK-LABEL: func.func @again(
// CHECK: [[M:%.+]] = memref.alloc() : memref<8xf32>
// CHECK: [[L:%.+]] = memref.alloc() : memref<8xf32>
// CHECK: "morello.compose"(%arg0, [[M]], [[L]]) {graph = {inputs = [#map{{[0-9]*}}], nodes = [{body = 0 : i64, map = #map{{[0-9]*}}, output = "overwrite", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
// CHECK-SAME: producers
// CHECK: "morello.compose"(%arg0, [[M]], [[L]], %arg1) {consumers, graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["div", ["exp", ["sub", 0, 1]], 2], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}]}
module attributes {transform.with_named_sequence} {
func.func @again(%x: memref<8x33xf32>, %y: memref<8x33xf32>) {
  "morello.compose"(%x, %y) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0,v1,v2", again = "v1", level = "L1", layout = #morello.layout<"[0]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
func.func @memory(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{it has no node 'v7'; those are: v0, v1}}
  %r:2 = "morello_transform.cut"(%0) {nodes = "v7", again = "", level = "MEM", layout = #morello.layout<"[0,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
func.func @memory(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{after v1 it cannot be cut: nodes need what they read, both halves have an output, and what a product reads is cut off before it}}
  %r:2 = "morello_transform.cut"(%0) {nodes = "v1", again = "", level = "MEM", layout = #morello.layout<"[0,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
func.func @memory(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{the layout [0] has not 2 dimensions}}
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0", again = "", level = "MEM", layout = #morello.layout<"[0]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
func.func @memory(%a: memref<8x33xf32>, %w: memref<33x16xf32>, %c: memref<16xf32>, %y: memref<8x16xf32>) {
  "morello.compose"(%a, %w, %c, %y) {graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["gelu", ["add", 3, 2]], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16, 33>, tensors = [#g2, #g2, #g1, #g2]} : (memref<8x33xf32>, memref<33x16xf32>, memref<16xf32>, memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{a temporary is not packed}}
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0", again = "", level = "MEM", layout = #morello.layout<"[0,1,1p8]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
func.func @again(%x: memref<8x33xf32>, %y: memref<8x33xf32>) {
  "morello.compose"(%x, %y) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0, d1)>, reduction = "map"}, {body = 2 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}, {body = ["div", 2, 3], map = affine_map<(d0, d1) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{one temporary alone can be in registers, the result of a product}}
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0,v1,v2", again = "v1", level = "VRF", layout = #morello.layout<"[0]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
func.func @f(%x: memref<8x33xf32>, %y: memref<8x33xf32>) {
  "morello.move"(%x, %y) {limits = #limits, serial = true, sizes = array<i64: 8, 33>, tensors = [#g2, #g2]} : (memref<8x33xf32>, memref<8x33xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.move"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{move is no graph that could be cut}}
  %r:2 = "morello_transform.cut"(%0) {nodes = "v0", again = "", level = "L1", layout = #morello.layout<"[0]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

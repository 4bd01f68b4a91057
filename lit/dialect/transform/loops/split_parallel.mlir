// morello_transform.split_parallel: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// The maximum inside and the sum are partial results, each in lines of its own.
// CHECK-LABEL: func.func @f(
// CHECK: [[M:%.+]] = memref.alloc() : memref<3x16xf32>
// CHECK: [[MS:%.+]] = memref.subview [[M]][0, 0] [3, 8] [1, 1]
// CHECK: [[L:%.+]] = memref.alloc() : memref<3x16xf32>
// CHECK: [[LS:%.+]] = memref.subview [[L]][0, 0] [3, 8] [1, 1]
// CHECK: "morello.fill"([[MS]])
// CHECK-SAME: init, {{.*}}sizes = array<i64: 3, 8>{{.*}}value = "lowest"
// CHECK: "morello.fill"([[LS]])
// CHECK-SAME: init1, {{.*}}sizes = array<i64: 3, 8>{{.*}}value = "zero"
// CHECK: scf.parallel ([[T:%.+]]) = (%{{.+}}) to (%c3)
// CHECK: [[MT:%.+]] = memref.subview [[MS]][[[T]], 0] [1, 8] [1, 1]
// CHECK: [[LT:%.+]] = memref.subview [[LS]][[[T]], 0] [1, 8] [1, 1]
// CHECK: arith.cmpi ult, [[T]], %c2
// CHECK: [[BEGIN:%.+]] = arith.muli [[T]], %c16
// CHECK: [[TILE:%.+]] = memref.subview %arg0[0, [[BEGIN]]] [8, 16] [1, 1]
// CHECK: "morello.compose"([[TILE]], [[MT]], [[LT]]) {graph = {inputs = [#map{{[0-9]*}}], nodes = [{body = 0 : i64, map = #map{{[0-9]*}}, output = "accumulate", reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = #map{{[0-9]*}}, output = "accumulate", reduction = "sum"}]}
// CHECK-SAME: main,
// CHECK-SAME: serial = true, sizes = array<i64: 8, 16>
// CHECK: arith.cmpi eq, [[T]], %c2
// CHECK: [[REST:%.+]] = memref.subview %arg0[0, 32] [8, 8] [1, 1]
// CHECK: "morello.compose"([[REST]], [[MT]], [[LT]])
// CHECK-SAME: remainder
// CHECK: "morello.compose"([[LS]], [[MS]], %arg1) {graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = 1 : i64, map = #map{{[0-9]*}}, reduction = "max"}, {body = ["exp", ["sub", ["maximum", 1, -3.4028234663852886E+38], ["maximum", 2, -3.4028234663852886E+38]]], map = #map{{[0-9]*}}, reduction = "map"}, {body = ["mul", 0, 3], map = #map{{[0-9]*}}, output = "overwrite", reduction = "sum"}]}
// CHECK-SAME: merge
// CHECK-NOT: transform
module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @f(%x: memref<8x40xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, reduction = "max"}, {body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = false, sizes = array<i64: 8, 40>, tensors = [#g2, #g1]} : (memref<8x40xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:7 = "morello_transform.split_parallel"(%0) {dim = "d1", size = 16 : i64, parts = 3 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "init" : !transform.any_op
  transform.annotate %r#1 "init1" : !transform.any_op
  transform.annotate %r#4 "main" : !transform.any_op
  transform.annotate %r#5 "remainder" : !transform.any_op
  transform.annotate %r#6 "merge" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @f(%x: memref<8x40xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "max"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = false, sizes = array<i64: 8, 40>, tensors = [#g2, #g1]} : (memref<8x40xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{shares of 16 are 3, not 2}}
  %r:7 = "morello_transform.split_parallel"(%0) {dim = "d1", size = 16 : i64, parts = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

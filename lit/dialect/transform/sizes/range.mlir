// morello_transform.range: before and after, loops along a range, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Up to 4 rows, and above in tiles of 8: what remains of a loop has a range of its own.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: [[M:%[^:]+]]: index)
// CHECK: [[IS:%.+]] = arith.cmpi ugt, [[M]], %c4
// CHECK: scf.if [[IS]] {
// CHECK: [[REST:%.+]] = arith.remui [[M]], %c8
// CHECK: [[END:%.+]] = arith.subi [[M]], [[REST]]
// CHECK: scf.for [[I:%.+]] = %{{.+}} to [[END]] step
// CHECK: memref.subview %{{.+}}[0, [[I]], 0] [1, 8, 4]
// CHECK: "morello.matmul"
// CHECK-SAME: main, morello.goal = "matmul_accum:9..28x4x16:f32", serial = true, sizes = array<i64: 1, 8, 4, 16>
// CHECK: } {morello.trips = 3 : i64}
// CHECK: arith.cmpi ne, [[REST]], %c0
// CHECK: scf.if
// CHECK: memref.subview %{{.+}}[0, [[END]], 0] [1, 7, 4]
// CHECK: "morello.matmul"
// CHECK-SAME: morello.size = [array<i64: 0, 4, 8>], ranges = "m=1..7", remainder
// CHECK: } {morello.trips = 1 : i64}
// CHECK: ranges = "m=5..8"
// CHECK: } else {
// CHECK: low, morello.goal = "matmul_accum:1..4x4x16:f32", morello.size = [array<i64: 0, 28>], ranges = "m=1..4"
// CHECK: } {morello.counted}
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x28x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x28x16xf32>, %m: index) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "m=1..28", serial = true, sizes = array<i64: 1, 28, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x28x4xf32>, memref<1x4x16xf32>, memref<1x28x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.range"(%0) {dim = "m", last = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %s:2 = "morello_transform.range"(%r#1) {dim = "m", last = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %t:2 = "morello_transform.tile"(%s#1) {dim = "m", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "low" : !transform.any_op
  transform.annotate %t#0 "main" : !transform.any_op
  transform.annotate %t#1 "remainder" : !transform.any_op
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x28x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x28x16xf32>, %m: index) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "m=1..28", serial = true, sizes = array<i64: 1, 28, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x28x4xf32>, memref<1x4x16xf32>, memref<1x28x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{at the size 1: size 32 is not smaller than n = 16}}
  %t:2 = "morello_transform.tile"(%0) {dim = "n", size = 32 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x28x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x28x16xf32>, %m: index) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "m=1..28", serial = true, sizes = array<i64: 1, 28, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x28x4xf32>, memref<1x4x16xf32>, memref<1x28x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{m is not a range of sizes on both sides of 28}}
  %r:2 = "morello_transform.range"(%0) {dim = "m", last = 28 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// morello_transform.grid_parallel: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Thread t has the tile in row t / 2 and column t mod 2; those of the second column have
// 12 columns, and the last row has 36 rows. Only whole tiles count.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: [[OUT:%.+]]: memref<100x60xf32>)
// CHECK: scf.parallel ([[T:%.+]]) = (%{{.+}}) to (%c4) step (%{{.+}}) {
// CHECK: [[ROW:%.+]] = arith.divui [[T]], %c2
// CHECK: [[COL:%.+]] = arith.remui [[T]], %c2
// CHECK: arith.cmpi ult, [[ROW]], %c1
// CHECK: arith.cmpi ult, [[COL]], %c1
// CHECK: scf.if
// CHECK: memref.subview [[OUT]][%{{.+}}, 0] [64, 60] [1, 1]
// CHECK: [[MAIN:%.+]] = memref.subview %{{.+}}[0, %{{.+}}] [64, 48] [1, 1]
// CHECK: "morello.fill"([[MAIN]])
// CHECK-SAME: main, serial = true, sizes = array<i64: 64, 48>
// CHECK: {morello.trips = 1 : i64}
// CHECK: arith.cmpi uge, [[COL]], %c1
// CHECK: scf.if
// CHECK: memref.subview %{{.+}}[0, 48] [64, 12] [1, 1]
// CHECK: right, serial = true, sizes = array<i64: 64, 12>
// CHECK: {morello.trips = 0 : i64}
// CHECK: memref.subview [[OUT]][64, 0] [36, 60] [1, 1]
// CHECK: {below, {{.*}}sizes = array<i64: 36, 48>
// CHECK: {corner, {{.*}}sizes = array<i64: 36, 12>
// CHECK: scf.reduce
// CHECK-NOT: transform
module attributes {transform.with_named_sequence, morello.target = "avx2{threads=4}"} {
func.func @f(%out: memref<100x60xf32>) {
  "morello.fill"(%out) {limits = #limits, serial = false, sizes = array<i64: 100, 60>, tensors = [#g2], value = "zero"} : (memref<100x60xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:4 = "morello_transform.grid_parallel"(%0) {rows = "d0", row_size = 64 : i64, columns = "d1", column_size = 48 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "main" : !transform.any_op
  transform.annotate %r#1 "right" : !transform.any_op
  transform.annotate %r#2 "below" : !transform.any_op
  transform.annotate %r#3 "corner" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @f(%out: memref<100x60xf32>) {
  "morello.fill"(%out) {limits = #limits, serial = false, sizes = array<i64: 100, 60>, tensors = [#g2], value = "zero"} : (memref<100x60xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{4 tiles are more than the 3 threads}}
  %r:4 = "morello_transform.grid_parallel"(%0) {rows = "d0", row_size = 64 : i64, columns = "d1", column_size = 48 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

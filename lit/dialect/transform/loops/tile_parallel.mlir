// morello_transform.tile_parallel: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Seven tiles of 14 rows and one of two rows for three threads. Thread t begins with tile
// 8 * t / 3; the busiest has three whole ones, the last two and then the two rows.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: [[OUT:%.+]]: memref<100x8xf32>)
// CHECK: scf.parallel ([[T:%.+]]) = (%{{.+}}) to (%c3) step (%{{.+}}) {
// CHECK: [[P:%.+]] = arith.muli [[T]], %c8
// CHECK: [[Q:%.+]] = arith.divui [[P]], %c3
// CHECK: [[LOW:%.+]] = arith.muli [[Q]], %c14
// CHECK: [[NEXT:%.+]] = arith.addi [[T]], %{{.+}}
// CHECK: [[R:%.+]] = arith.muli [[NEXT]], %c8
// CHECK: [[S:%.+]] = arith.divui [[R]], %c3
// CHECK: [[HIGH:%.+]] = arith.muli [[S]], %c14
// CHECK: [[END:%.+]] = arith.minui [[HIGH]], %c98
// CHECK: scf.for [[I:%.+]] = [[LOW]] to [[END]] step %c14
// CHECK: [[TILE:%.+]] = memref.subview [[OUT]][[[I]], 0] [14, 8] [1, 1]
// CHECK: "morello.fill"([[TILE]])
// CHECK-SAME: main, serial = true, sizes = array<i64: 14, 8>
// CHECK: {morello.trips = 3 : i64}
// CHECK: [[LAST:%.+]] = arith.cmpi eq, [[T]], %c2
// CHECK: scf.if [[LAST]] {
// CHECK: [[REST:%.+]] = memref.subview [[OUT]][98, 0] [2, 8] [1, 1]
// CHECK: "morello.fill"([[REST]])
// CHECK-SAME: remainder, serial = true, sizes = array<i64: 2, 8>
// CHECK: {morello.trips = 0 : i64}
// CHECK: scf.reduce
// CHECK-NOT: transform
module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @f(%out: memref<100x8xf32>) {
  "morello.fill"(%out) {limits = #limits, serial = false, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile_parallel"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "main" : !transform.any_op
  transform.annotate %r#1 "remainder" : !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @f(%out: memref<100x8xf32>) {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{the Spec is serial: parallel loops are forbidden in it}}
  %r:2 = "morello_transform.tile_parallel"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// expected-error @+1 {{'threads=many' in the target 'avx2{threads=many}' gives no number}}
module attributes {transform.with_named_sequence, morello.target = "avx2{threads=many}"} {
func.func @f(%out: memref<100x8xf32>) {
  "morello.fill"(%out) {limits = #limits, serial = false, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile_parallel"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}


// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A call says m: the threads share the tiles that there are, and the last one has what
// remains.
// CHECK-LABEL: func.func @any_size
// CHECK-SAME: [[M:%[a-z0-9]+]]: index
// CHECK: [[REST:%.+]] = arith.remui [[M]], %c12
// CHECK: [[COVERED:%.+]] = arith.subi [[M]], [[REST]]
// CHECK: [[ITEMS:%.+]] = arith.divui
// CHECK: scf.parallel ([[T:%.+]]) = (%c0{{.*}}) to (%c3
// CHECK: arith.muli [[T]], [[ITEMS]]
// CHECK: [[END:%.+]] = arith.minui {{.*}}, [[COVERED]]
// CHECK: scf.for {{.*}} to [[END]] step %c12
// CHECK: "morello.matmul"
// CHECK-SAME: main, serial = true, sizes = array<i64: 1, 12, 4, 16>
// CHECK: {morello.trips = 3 : i64}
// CHECK: [[LEFT:%.+]] = arith.cmpi ne, [[REST]]
// CHECK: arith.andi {{.*}}, [[LEFT]]
// CHECK: "morello.matmul"
// CHECK-SAME: morello.size = [array<i64: 0, 4, 12>]
// CHECK-SAME: ranges = "m=1..11", remainder
module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @any_size(%a: memref<1x100x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x100x16xf32>, %m: index) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "m=1..100", serial = false, sizes = array<i64: 1, 100, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x100x4xf32>, memref<1x4x16xf32>, memref<1x100x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile_parallel"(%0) {dim = "m", size = 12 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "main" : !transform.any_op
  transform.annotate %r#1 "remainder" : !transform.any_op
  transform.yield
}
}

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
// CHECK: "morello.compose"([[TILE]], [[MT]], [[LT]]) {graph = "out v0[d0]+=max(x0[d0,d1]);out v1[d0]+=sum(exp(x0-v0))"
// CHECK-SAME: main,
// CHECK-SAME: serial = true, sizes = array<i64: 8, 16>
// CHECK: arith.cmpi eq, [[T]], %c2
// CHECK: [[REST:%.+]] = memref.subview %arg0[0, 32] [8, 8] [1, 1]
// CHECK: "morello.compose"([[REST]], [[MT]], [[LT]])
// CHECK-SAME: remainder
// CHECK: "morello.compose"([[LS]], [[MS]], %arg1) {graph = "v0[d0]=max(x1[d1,d0]);v1[d1,d0]=exp(maximum(x1,-3.4028234663852886e+38)-maximum(v0,-3.4028234663852886e+38));out v2[d0]=sum(x0[d1,d0]*v1)"
// CHECK-SAME: merge
// CHECK-NOT: transform
module attributes {transform.with_named_sequence, morello.target = "avx2{threads=3}"} {
func.func @f(%x: memref<8x40xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %l) {graph = "v0[d0]=max(x0[d0,d1]);out v1[d0]=sum(exp(x0-v0))", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = false, sizes = array<i64: 8, 40>, tensors = [#g2, #g1]} : (memref<8x40xf32>, memref<8xf32>) -> ()
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
  "morello.compose"(%x, %l) {graph = "out v0[d0]=max(x0[d0,d1])", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = false, sizes = array<i64: 8, 40>, tensors = [#g2, #g1]} : (memref<8x40xf32>, memref<8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.compose"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{shares of 16 are 3, not 2}}
  %r:7 = "morello_transform.split_parallel"(%0) {dim = "d1", size = 16 : i64, parts = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

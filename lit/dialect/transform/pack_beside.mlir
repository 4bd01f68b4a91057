// morello_transform.pack_beside: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g = #morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=16384">

// CHECK-LABEL: func.func @f(
// CHECK: [[COPY:%.+]] = memref.alloc() : memref<1x2x10x16xf32>
// CHECK: [[FA:%.+]] = memref.subview %arg0[0, 0, 0] [1, 6, 10]
// CHECK: [[FC:%.+]] = memref.subview %arg2[0, 0, 0] [1, 6, 32]
// CHECK: "morello.kernel"([[FA]], %arg1, [[FC]], [[COPY]])
// CHECK-SAME: kernel = "matmul_packing"
// CHECK-SAME: sizes = array<i64: 1, 6, 10, 32>
// CHECK: scf.for [[I:%.+]] = %c6 to %c18 step %c6{{.*}} {
// CHECK: [[TA:%.+]] = memref.subview %arg0[0, [[I]], 0] [1, 6, 10]
// CHECK: [[TC:%.+]] = memref.subview %arg2[0, [[I]], 0] [1, 6, 32]
// CHECK: "morello.matmul"([[TA]], [[COPY]], [[TC]])
// CHECK-SAME: main, serial = true, sizes = array<i64: 1, 6, 10, 32>
// CHECK: }
// CHECK: "morello.matmul"({{[^,]+}}, [[COPY]], {{[^,]+}})
// CHECK-SAME: remainder
// CHECK-SAME: sizes = array<i64: 1, 2, 10, 32>
module attributes {morello.target = "avx2-golden-cove", transform.with_named_sequence} {
func.func @f(%a: memref<1x20x10xf32>, %b: memref<1x10x32xf32>, %c: memref<1x20x32xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 20, 10, 32>, tensors = [#g, #g, #g]} : (memref<1x20x10xf32>, memref<1x10x32xf32>, memref<1x20x32xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.pack_beside"(%0) {kernel = "matmul_packing", size = 6 : i64, level = "L2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "main" : !transform.any_op
  transform.annotate %r#1 "remainder" : !transform.any_op
  transform.yield
}
}

// -----

#g = #morello.tensor<"f32", "GL", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=16384">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x20x10xf32>, %b: memref<1x10x32xf32>, %c: memref<1x20x32xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 20, 10, 32>, tensors = [#g, #g, #g]} : (memref<1x20x10xf32>, memref<1x10x32xf32>, memref<1x20x32xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'matmul_packing' is no kernel of the target that leaves a copy of an operand; those are: none}}
  %r:2 = "morello_transform.pack_beside"(%0) {kernel = "matmul_packing", size = 6 : i64, level = "L2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

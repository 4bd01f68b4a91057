// morello_transform.specialize_range: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#u3 = #morello.tensor<"u8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#o3 = #morello.tensor<"s32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// One check of rhs decides; nothing is copied.
// CHECK-LABEL: func.func @f(
// CHECK: [[FOUND:%.+]] = "morello.range_check"(%arg1) {part = "s7", sizes = array<i64: 1, 16, 32>, tensor = #morello.tensor<"s8", "MEM"
// CHECK: scf.if [[FOUND]] {
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2)
// CHECK-SAME: in_range, limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true
// CHECK-SAME: #morello.tensor<"s7", "L2"
// CHECK: } else {
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2)
// CHECK-SAME: general, limits
// CHECK-SAME: #morello.tensor<"s8", "L2"
// CHECK: } {morello.counted}
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x16xi8>, %b: memref<1x16x32xi8>, %c: memref<1x6x32xi32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 16, 32>, tensors = [#u3, #s3, #o3]} : (memref<1x6x16xi8>, memref<1x16x32xi8>, memref<1x6x32xi32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.specialize_range"(%0) {operand = "rhs", level = "L2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "in_range" : !transform.any_op
  transform.annotate %r#1 "general" : !transform.any_op
  transform.yield
}
}

// -----

#u3 = #morello.tensor<"u8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#o3 = #morello.tensor<"s32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x16xi8>, %b: memref<1x16x32xi8>, %c: memref<1x6x32xi32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 16, 32>, tensors = [#u3, #s3, #o3]} : (memref<1x6x16xi8>, memref<1x16x32xi8>, memref<1x6x32xi32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'lhs' is u8, of which no part has a dtype}}
  %r:2 = "morello_transform.specialize_range"(%0) {operand = "lhs", level = "L2"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#u3 = #morello.tensor<"u8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#o3 = #morello.tensor<"s32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x16xi8>, %b: memref<1x16x32xi8>, %c: memref<1x6x32xi32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 16, 32>, tensors = [#u3, #s3, #o3]} : (memref<1x6x16xi8>, memref<1x16x32xi8>, memref<1x6x32xi32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'rhs' is in MEM: name a nearer cache}}
  %r:2 = "morello_transform.specialize_range"(%0) {operand = "rhs", level = "MEM"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

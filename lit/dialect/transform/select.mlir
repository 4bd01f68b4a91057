// morello_transform.select: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f(
// CHECK-NOT: morello.fill
// CHECK: "morello.kernel"(%arg0) {kernel = "fill_rows", kind = "fill", leaf
// CHECK-SAME: options = {value = "zero"}, serial = true, sizes = array<i64: 8, 16>
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<8x16xf32>) {
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2], value = "zero"} : (memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r = "morello_transform.select"(%0) {kernel = "fill_rows"} : (!transform.any_op) -> !transform.any_op
  transform.annotate %r "leaf" : !transform.any_op
  transform.yield
}
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<8x16xf32>) {
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2], value = "zero"} : (memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{has no attribute 'kernel'; write for example kernel = "m"}}
  %r = "morello_transform.select"(%0) {} : (!transform.any_op) -> !transform.any_op
  transform.yield
}
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<8x16xf32>) {
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2], value = "zero"} : (memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{kernel 'copy_rows' does not implement}}
  %r = "morello_transform.select"(%0) {kernel = "copy_rows"} : (!transform.any_op) -> !transform.any_op
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<8x16xf32>) {
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2], value = "zero"} : (memref<8x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{those that do: none}}
  %r = "morello_transform.select"(%0) {kernel = "fill_rows"} : (!transform.any_op) -> !transform.any_op
  transform.yield
}
}

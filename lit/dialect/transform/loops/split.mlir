// morello_transform.split: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f(
// CHECK: scf.for [[I:%.+]] = %c0 to %c6 step %c3 {
// CHECK: [[TA:%.+]] = memref.subview %arg0[0, 0, [[I]]] [1, 6, 3]
// CHECK: [[TB:%.+]] = memref.subview %arg1[0, [[I]], 0] [1, 3, 16]
// CHECK: "morello.matmul"([[TA]], [[TB]], %arg2)
// CHECK-SAME: main, serial = true, sizes = array<i64: 1, 6, 3, 16>
// CHECK-SAME: #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true
// CHECK: }
// CHECK: [[RA:%.+]] = memref.subview %arg0[0, 0, 6] [1, 6, 1]
// CHECK: [[RB:%.+]] = memref.subview %arg1[0, 6, 0] [1, 1, 16]
// CHECK: "morello.matmul"([[RA]], [[RB]], %arg2)
// CHECK-SAME: remainder
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x7xf32>, %b: memref<1x7x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 7, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x7xf32>, memref<1x7x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.split"(%0) {dim = "k", size = 3 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "main" : !transform.any_op
  transform.annotate %r#1 "remainder" : !transform.any_op
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'morello_transform.split' op has no attribute 'dim'; write for example dim = "m"}}
  %r:2 = "morello_transform.split"(%0) {size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'m' is not a reduction of matmul_accum; those are: k}}
  %r:2 = "morello_transform.split"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{matmul overwrites its output: use to_accum first}}
  %r:2 = "morello_transform.split"(%0) {dim = "k", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{size 4 is not smaller than k = 4}}
  %r:2 = "morello_transform.split"(%0) {dim = "k", size = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'d0' is not a reduction of fill; those are: none}}
  %r:2 = "morello_transform.split"(%0) {dim = "d0", size = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

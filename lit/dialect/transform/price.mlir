// What a schedule costs: the first action keeps its goal; one that cannot be read is refused.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f(
// CHECK-SAME: morello.cost = {{[1-9][0-9]*}} : i64, morello.goal = "fill:100x8:f32"
module attributes {transform.with_named_sequence} {
func.func @f(%out: memref<100x8xf32>) {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// The goal of a function that was begun before stays.
// CHECK-LABEL: func.func @begun(
// CHECK-SAME: morello.goal = "fill:400x8:f32"
module attributes {transform.with_named_sequence} {
func.func @begun(%out: memref<100x8xf32>) attributes {morello.goal = "fill:400x8:f32"} {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%out: memref<100x8xf32>) attributes {morello.goal = "fill:400x8:f64"} {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{'morello.goal': Spec column 12: unknown dtype 'f64'}}
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%out: memref<100x8xf32>) attributes {morello.goal = 3 : i64} {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error @+1 {{'morello.goal' must be a string, not '3 : i64'}}
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%out: memref<100x8xf32>) attributes {morello.cost = "x"} {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'morello.cost' must be an integer (i64), not '"x"'}}
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%out: memref<100x8xf32>) attributes {morello.cost = array<i128: 1>} {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{the bindings have no class for array<i128: 1>; write an attribute of another type}}
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%out: memref<100x8xf32>) attributes {morello.cost = 9223372036854775807 : i64} {
  "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{the function costs more than 9223372036854775807 millicycles}}
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A loop around the Spec whose bounds nobody knows counts once.
// CHECK-LABEL: func.func @within(
// CHECK-SAME: morello.cost = {{[1-9][0-9]*}} : i64
module attributes {transform.with_named_sequence} {
func.func @within(%out: memref<100x8xf32>, %n: index) {
  scf.for %i = %n to %n step %n {
    "morello.fill"(%out) {limits = #limits, serial = true, sizes = array<i64: 100, 8>, tensors = [#g2], value = "zero"} : (memref<100x8xf32>) -> ()
  }
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = 14 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

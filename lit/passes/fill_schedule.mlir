// morello-synthesize{fill=true}: what a schedule leaves is appended to it, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-synthesize{fill=true})' | FileCheck %s

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Two holes; the new actions stand where their handles are, before the yield.
// CHECK-LABEL: func.func @f(
// CHECK: transform.named_sequence @__transform_main
// CHECK: %[[PARTS:.*]]:2 = "morello_transform.tile"
// CHECK-NEXT: %[[NEAR:.*]]:3 = "morello_transform.move"(%[[PARTS]]#0) {{.*}} operand = "out"}
// CHECK-NEXT: %[[FIRST:.*]]:3 = "morello_transform.move"(%[[NEAR]]#1) {{.*}} operand = "out"}
// CHECK-NEXT: "morello_transform.select"(%[[FIRST]]#1) {kernel = "fill_rows"}
// CHECK-NEXT: %[[NEXT:.*]]:3 = "morello_transform.move"(%[[PARTS]]#1) {{.*}} operand = "out"}
// CHECK-NEXT: %[[SECOND:.*]]:3 = "morello_transform.move"(%[[NEXT]]#1) {{.*}} operand = "out"}
// CHECK-NEXT: "morello_transform.select"(%[[SECOND]]#1) {kernel = "fill_rows"}
// CHECK-NEXT: transform.yield
module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<20xf32>) {
    "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 20>, tensors = [#g1]} : (memref<20xf32>) -> ()
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %fill = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %parts:2 = "morello_transform.tile"(%fill) {dim = "d0", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Without a schedule the option changes nothing.
// CHECK-LABEL: func.func @alone(
// CHECK: transform.named_sequence @__transform_main
// CHECK-NEXT: transform.structured.match
// CHECK-NEXT: "morello_transform.move"
func.func @alone(%a: memref<20xf32>) {
  "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 20>, tensors = [#g1]} : (memref<20xf32>) -> ()
  return
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<20xf32>) {
    // expected-error@+1 {{the schedule leaves fill:20}}
    "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 20>, tensors = [#g1]} : (memref<20xf32>) -> ()
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<20xf32>) {
    "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 20>, tensors = [#g1]} : (memref<20xf32>) -> ()
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %fill = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %parts:2 = "morello_transform.tile"(%fill) {dim = "d0", size = 16 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @both failures(propagate) (%parts#0) : (!transform.any_op) -> ()
    transform.include @both failures(propagate) (%parts#1) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @both(%fill: !transform.any_op {transform.consumed}) {
    // expected-error@+1 {{one handle is left with 2 different Specs, which need programs of their own}}
    %near:3 = "morello_transform.move"(%fill) {operand = "out", level = "L1", layout = #morello.layout<"[0]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// An action that does not apply is refused where it is written.
module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<20xf32>) {
    "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 20>, tensors = [#g1]} : (memref<20xf32>) -> ()
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %fill = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{size 20 is not smaller than d0 = 20}}
    %parts:2 = "morello_transform.tile"(%fill) {dim = "d0", size = 20 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// morello-apply-schedule: what it leaves, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// One sequence, included twice; the schedule is erased, the target stays.
// CHECK: module {
// CHECK-LABEL: func.func @f(
// CHECK: array<i64: 1, 4, 4, 12>
// CHECK: array<i64: 1, 2, 4, 12>
// CHECK: array<i64: 1, 4, 4, 4>
// CHECK: array<i64: 1, 2, 4, 4>
// CHECK-NOT: transform
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @rows(%op: !transform.any_op {transform.consumed}) {
  %r:2 = "morello_transform.tile"(%op) {dim = "m", size = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %m:2 = "morello_transform.tile"(%0) {dim = "n", size = 12 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.include @rows failures(propagate) (%m#0) : (!transform.any_op) -> ()
  transform.include @rows failures(propagate) (%m#1) : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: module attributes {morello.target = "avx2"} {
// CHECK: array<i64: 1, 2, 4, 16>
// CHECK-NOT: transform
module attributes {transform.with_named_sequence, morello.target = "avx2"} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// An error inside an included sequence is at its op.
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @rows(%op: !transform.any_op {transform.consumed}) {
  // expected-error@+1 {{size 8 is not smaller than m = 6}}
  %r:2 = "morello_transform.tile"(%op) {dim = "m", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %m:2 = "morello_transform.tile"(%0) {dim = "n", size = 12 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.include @rows failures(propagate) (%m#0) : (!transform.any_op) -> ()
  transform.include @rows failures(propagate) (%m#1) : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A handle is used after it was consumed.
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @rows(%op: !transform.any_op {transform.consumed}) {
  %r:2 = "morello_transform.tile"(%op) {dim = "m", size = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %m:2 = "morello_transform.tile"(%0) {dim = "n", size = 12 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.include @rows failures(propagate) (%m#0) : (!transform.any_op) -> ()
  transform.include @rows failures(propagate) (%m#1) : (!transform.any_op) -> ()
  // expected-error@+1 {{op uses a handle invalidated by a previously executed transform op}}
  transform.include @rows failures(propagate) (%m#0) : (!transform.any_op) -> ()
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Upstream's own failure keeps its location.
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{only ops implementing TilingInterface are supported}}
  %t, %l = transform.structured.tile_using_for %0 tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// expected-error@below {{the module holds no schedule: it has no transform.named_sequence @__transform_main; write one, or run morello-synthesize first}}
module {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
}

// -----

// expected-error@below {{it has no transform.named_sequence @__transform_main, only @rows; write one}}
module attributes {transform.with_named_sequence} {
transform.named_sequence @rows(%op: !transform.any_op {transform.readonly}) {
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
// expected-error@below {{@__transform_main takes (); it must take one handle to the module: (%root: !transform.any_op {transform.readonly})}}
transform.named_sequence @__transform_main() {
  transform.yield
}
}

// -----

module attributes {transform.with_named_sequence} {
// expected-error@below {{@__transform_main has no body; write one}}
transform.named_sequence private @__transform_main(%root: !transform.any_op {transform.readonly})
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// expected-error@below {{unknown target 'vax'; use one of avx2}}
module attributes {transform.with_named_sequence, morello.target = "vax"} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// expected-error@below {{'morello.target' must be a string, not '3 : i64'}}
module attributes {transform.with_named_sequence, morello.target = 3} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// morello_transform.tile: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Two tiles of 48 rows, then 4 rows.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: [[A:%.+]]: memref<1x100x4xf32>, [[B:%.+]]: memref<1x3x4x16xf32>, [[C:%.+]]: memref<1x100x40xf32>)
// CHECK: scf.for [[I:%.+]] = %c0 to %c96 step %c48 {
// CHECK: [[TA:%.+]] = memref.subview [[A]][0, [[I]], 0] [1, 48, 4] [1, 1, 1]
// CHECK: [[TC:%.+]] = memref.subview [[C]][0, [[I]], 0] [1, 48, 40] [1, 1, 1]
// CHECK: "morello.matmul"([[TA]], [[B]], [[TC]])
// CHECK-SAME: main, serial = true, sizes = array<i64: 1, 48, 4, 40>
// CHECK-SAME: #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0 : i64>, #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false
// CHECK: }
// CHECK: [[RA:%.+]] = memref.subview [[A]][0, 96, 0] [1, 4, 4] [1, 1, 1] : memref<1x100x4xf32> to memref<1x4x4xf32, strided<[400, 4, 1], offset: 384>>
// CHECK: [[RC:%.+]] = memref.subview [[C]][0, 96, 0] [1, 4, 40]
// CHECK: "morello.matmul"([[RA]], [[B]], [[RC]])
// CHECK-SAME: remainder, serial = true, sizes = array<i64: 1, 4, 4, 40>
// CHECK-NOT: transform
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x100x4xf32>, %b: memref<1x3x4x16xf32>, %c: memref<1x100x40xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 100, 4, 40>, tensors = [#g3, #p3, #g3]} : (memref<1x100x4xf32>, memref<1x3x4x16xf32>, memref<1x100x40xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 48 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.annotate %r#0 "main" : !transform.any_op
  transform.annotate %r#1 "remainder" : !transform.any_op
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Whole packs: a loop of one trip is no loop. Then parts of a pack.
// CHECK-LABEL: func.func @f(
// CHECK-NOT: scf.for
// CHECK: memref.subview %arg1[0, 0, 0, 0] [1, 2, 4, 16] [1, 1, 1, 1]
// CHECK: morello.matmul
// CHECK: [[RB:%.+]] = memref.subview %arg1[0, 2, 0, 0] [1, 1, 4, 8] [1, 1, 1, 1] : memref<1x3x4x16xf32> to memref<1x1x4x8xf32, strided<[192, 64, 16, 1], offset: 128>>
// CHECK: scf.for [[I:%.+]] = %c0 to %c8 step %c4
// CHECK: memref.subview [[RB]][0, 0, 0, [[I]]] [1, 1, 4, 4]
// CHECK: sizes = array<i64: 1, 100, 4, 4>
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x100x4xf32>, %b: memref<1x3x4x16xf32>, %c: memref<1x100x40xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 100, 4, 40>, tensors = [#g3, #p3, #g3]} : (memref<1x100x4xf32>, memref<1x3x4x16xf32>, memref<1x100x40xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "n", size = 32 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %s:2 = "morello_transform.tile"(%r#1) {dim = "n", size = 4 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Tiles inside of packs.
// CHECK-LABEL: func.func @f(
// CHECK: scf.for [[I:%.+]] = %c0 to %c40 step %c8
// CHECK: [[P:%.+]] = arith.divui [[I]], %c16
// CHECK: [[E:%.+]] = arith.remui [[I]], %c16
// CHECK: memref.subview %arg1[0, [[P]], 0, [[E]]] [1, 1, 4, 8]
// CHECK: memref.subview %arg2[0, 0, [[I]]] [1, 100, 8]
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x100x4xf32>, %b: memref<1x3x4x16xf32>, %c: memref<1x100x40xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 100, 4, 40>, tensors = [#g3, #p3, #g3]} : (memref<1x100x4xf32>, memref<1x3x4x16xf32>, memref<1x100x40xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "n", size = 8 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A handle to several ops is rewritten op by op; one to none does nothing.
// CHECK-LABEL: func.func @f(
// CHECK: scf.for
// CHECK: sizes = array<i64: 1, 2, 4, 16>
// CHECK-LABEL: func.func @g(
// CHECK: scf.for
// CHECK: sizes = array<i64: 1, 2, 4, 16>
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
func.func @g(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %s:2 = "morello_transform.tile"(%r#1) {dim = "m", size = 1 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'morello_transform.tile' op has no attribute 'dim'; write for example dim = "m"}}
  %r:2 = "morello_transform.tile"(%0) {size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'morello_transform.tile' op has no attribute 'size'; write for example size = 48}}
  %r:2 = "morello_transform.tile"(%0) {dim = "m"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'dim' must be a string, not '1 : i64'}}
  %r:2 = "morello_transform.tile"(%0) {dim = 1 : i64, size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'size' must be an integer (i64), not '2 : i32'}}
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 2 : i32} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{tile does not apply to matmul_accum:1x6x4x16 f32@MEM[0,1,2]! f32@MEM[0,1,2]! f32@MEM[0,1,2]! vrf=16,l1=512,l2=8192: size 6 is not smaller than m = 6}}
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 6 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{size 0 is not positive}}
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 0 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{size -2 is not positive}}
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = -2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'k' is a reduction: use split}}
  %r:2 = "morello_transform.tile"(%0) {dim = "k", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'q' is not a dimension of the output of matmul_accum outside registers; those are: b, m, n}}
  %r:2 = "morello_transform.tile"(%0) {dim = "q", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x100x4xf32>, %b: memref<1x3x4x16xf32>, %c: memref<1x100x40xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 100, 4, 40>, tensors = [#g3, #p3, #g3]} : (memref<1x100x4xf32>, memref<1x3x4x16xf32>, memref<1x100x40xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{size 24 is neither a multiple nor a divisor of the pack of 16 in the layout [0,2,1,2p16] of 'rhs'}}
  %r:2 = "morello_transform.tile"(%0) {dim = "n", size = 24 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Where the payload is.
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error-re@+1 {{note: the payload op is at {{[0-9]+}}:3}}
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 7 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
  %0 = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{tile applies to a Spec op, not to 'func.func'; match one of morello.matmul, }}
  %r:2 = "morello_transform.tile"(%0) {dim = "m", size = 2 : i64} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.yield
}
}

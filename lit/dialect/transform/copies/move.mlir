// morello_transform.move: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-apply-schedule)' | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Into a cache with the same layout: nothing is copied.
// CHECK-LABEL: func.func @f(
// CHECK-NOT: memref.alloc
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2) {accum = true, body, limits = #morello.limits<"vrf=16,l1=512,l2=8192">
// CHECK-SAME: tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "MEM"
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.move"(%0) {operand = "rhs", level = "L2", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#b3 = #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// An input becomes wider as it is packed.
// CHECK-LABEL: func.func @f(
// CHECK: [[BUF:%.+]] = memref.alloc() : memref<1x1x4x16xf32>
// CHECK: "morello.move"(%arg1, [[BUF]])
// CHECK-SAME: #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,2,1,2p16]">, false
// CHECK: "morello.matmul"(%arg0, [[BUF]], %arg2) {accum = true, body
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xbf16>, %b: memref<1x4x16xbf16>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#b3, #b3, #g3]} : (memref<1x6x4xbf16>, memref<1x4x16xbf16>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.move"(%0) {operand = "rhs", level = "L2", layout = #morello.layout<"[0,2,1,2p16]">, dtype = "f32"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#u3 = #morello.tensor<"u8", "L1", #morello.layout<"[0,1,2]">, false, 0>
#s3 = #morello.tensor<"s8", "L1", #morello.layout<"[0,1,2]">, false, 0>
#o3 = #morello.tensor<"s16", "L1", #morello.layout<"[0,1,2]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// An integer output that wraps is computed in more bits, and cut off at the end.
// CHECK-LABEL: func.func @f(
// CHECK: [[BUF:%.+]] = memref.alloca() : memref<1x6x2xvector<8xi32>>
// CHECK: "morello.move"(%arg2, [[BUF]])
// CHECK: "morello.matmul"(%arg0, %arg1, [[BUF]]) {accum = true, body
// CHECK-SAME: #morello.tensor<"s32", "VRF", #morello.layout<"[0,1,2]">, false, 8 : i64>
// CHECK: "morello.move"([[BUF]], %arg2) {epilogue
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xi8>, %b: memref<1x4x16xi8>, %c: memref<1x6x16xi16>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#u3, #s3, #o3]} : (memref<1x6x4xi8>, memref<1x4x16xi8>, memref<1x6x16xi16>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.move"(%0) {operand = "out", level = "VRF", layout = #morello.layout<"[0,1,2]">, dtype = "s32"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#u3 = #morello.tensor<"u8", "L1", #morello.layout<"[0,1,2]">, false, 0>
#s3 = #morello.tensor<"s8", "L1", #morello.layout<"[0,1,2]">, false, 0>
#o3 = #morello.tensor<"s16", "L1", #morello.layout<"[0,1,2]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xi8>, %b: memref<1x4x16xi8>, %c: memref<1x6x16xi16>) {
  "morello.matmul"(%a, %b, %c) {accum = true, saturating = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#u3, #s3, #o3]} : (memref<1x6x4xi8>, memref<1x4x16xi8>, memref<1x6x16xi16>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'out' cannot be s32 in its stead: matmul_accum on u8,s8,s16 would not be the same}}
  %r:3 = "morello_transform.move"(%0) {operand = "out", level = "VRF", layout = #morello.layout<"[0,1,2]">, dtype = "s32"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#b3 = #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xbf16>, %b: memref<1x4x16xbf16>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#b3, #b3, #g3]} : (memref<1x6x4xbf16>, memref<1x4x16xbf16>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'f64' is no dtype}}
  %r:3 = "morello_transform.move"(%0) {operand = "rhs", level = "L2", layout = #morello.layout<"[0,1,2]">, dtype = "f64"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A relayout of an input: a buffer, padded to whole packs, and a prologue.
// CHECK-LABEL: func.func @f(
// CHECK: [[BUF:%.+]] = memref.alloc() : memref<1x2x4x16xf32>
// CHECK: "morello.move"(%arg1, [[BUF]])
// CHECK-SAME: prologue, serial = true, sizes = array<i64: 1, 4, 20>
// CHECK-SAME: #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0,2,1,2p16]">, false
// CHECK: "morello.matmul"(%arg0, [[BUF]], %arg2) {accum = true, body
// CHECK-NOT: morello.move
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x20xf32>, %c: memref<1x6x20xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 20>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x20xf32>, memref<1x6x20xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.move"(%0) {operand = "rhs", level = "L1", layout = #morello.layout<"[0,2,1,2p16]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

// Into registers, an output that is read too: both moves.
// CHECK-LABEL: func.func @f(
// CHECK: [[BUF:%.+]] = memref.alloca() : memref<1x6x2xvector<8xf32>>
// CHECK: "morello.move"(%arg2, [[BUF]]) {limits = #morello.limits<"vrf=4,l1=512,l2=8192">, prologue
// CHECK: "morello.matmul"(%arg0, %arg1, [[BUF]]) {accum = true, body, limits = #morello.limits<"vrf=4
// CHECK-SAME: #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8 : i64>
// CHECK: "morello.move"([[BUF]], %arg2) {epilogue
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.move"(%0) {operand = "out", level = "VRF", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
  transform.yield
}
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

// An output that is only written: no prologue.
// CHECK-LABEL: func.func @f(
// CHECK-NOT: morello.move
// CHECK: "morello.matmul"(%arg0, %arg1, [[BUF:%.+]]) {accum = false, body
// CHECK: "morello.move"([[BUF]], %arg2) {epilogue
module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %r:3 = "morello_transform.move"(%0) {operand = "out", level = "VRF", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.annotate %r#0 "prologue" : !transform.any_op
  transform.annotate %r#1 "body" : !transform.any_op
  transform.annotate %r#2 "epilogue" : !transform.any_op
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
  // expected-error@+1 {{'morello_transform.move' op has no attribute 'operand'; write for example operand = "m"}}
  %r:3 = "morello_transform.move"(%0) {level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'morello_transform.move' op has no attribute 'level'; write for example level = "L1"}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'morello_transform.move' op has no attribute 'layout'; write for example layout = #morello.layout<"[0,2,1]">}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L1"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{unknown memory level 'L3'; use one of VRF, L1, L2, MEM}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L3", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{'"[0,1]"' is not a layout; write #morello.layout<"[0,2,1,2p16]">}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L1", layout = "[0,1]"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{layout [0,1,1] does not name each of the dimensions 0 to 2 whole exactly once}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L1", layout = #morello.layout<"[0,1,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{it has no operand 'acc'; those are: lhs, rhs, out}}
  %r:3 = "morello_transform.move"(%0) {operand = "acc", level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{the layout [0,1] has 2 dimensions, not 3}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L1", layout = #morello.layout<"[0,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
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
  // expected-error@+1 {{registers are filled from L1, not from MEM}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "VRF", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{L2 is farther than L1}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L2", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'lhs' is in L1 with the layout [0,1,2] already}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L1", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{registers hold row-major tiles, not [0,2,1]}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "VRF", layout = #morello.layout<"[0,2,1]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #morello.limits<"vrf=8,l1=512,l2=0">, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'out' takes 12 registers of VRF, 8 are free}}
  %r:3 = "morello_transform.move"(%0) {operand = "out", level = "VRF", layout = #morello.layout<"[0,1,2]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#m3 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0>

module attributes {transform.with_named_sequence} {
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#m3, #m3, #m3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
  %0 = transform.structured.match ops{["morello.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  // expected-error@+1 {{'lhs' is narrower than the pack of 16 in [0,1,2,2p16]}}
  %r:3 = "morello_transform.move"(%0) {operand = "lhs", level = "L1", layout = #morello.layout<"[0,1,2,2p16]">} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.yield
}
}

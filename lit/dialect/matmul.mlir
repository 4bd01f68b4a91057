// morello.matmul: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK-LABEL: func.func @f
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2) {accum = false, limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true, sizes = array<i64: 1, 6, 4, 16>
// CHECK-SAME: (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#u3 = #morello.tensor<"u8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#o3 = #morello.tensor<"s16", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// An option that may be left out.
// CHECK-LABEL: func.func @f
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2) {accum = false
// CHECK-SAME: saturating = true
func.func @f(%a: memref<1x6x4xi8>, %b: memref<1x4x16xi8>, %c: memref<1x6x16xi16>) {
  "morello.matmul"(%a, %b, %c) {accum = false, saturating = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#u3, #s3, #o3]} : (memref<1x6x4xi8>, memref<1x4x16xi8>, memref<1x6x16xi16>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{matmul has no saturating product f32,f32,f32; saturating=true goes with u8,s8,s16 alone}}
  "morello.matmul"(%a, %b, %c) {accum = false, saturating = true, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#v3 = #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8>
#b3 = #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Mixed dtypes, a packed operand, registers, a discardable attribute.
// CHECK-LABEL: func.func @f
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2) {accum = true
// CHECK-SAME: morello.id = 7 : i64, serial = false
// CHECK-SAME: memref<1x6x2xvector<8xf32>>
func.func @f(%a: memref<1x6x4xbf16>, %b: memref<1x1x4x16xbf16>, %c: memref<1x6x2xvector<8xf32>>) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, serial = false, morello.id = 7, sizes = array<i64: 1, 6, 4, 16>, tensors = [#b3, #morello.tensor<"bf16", "L1", #morello.layout<"[0,2,1,2p16]">, false, 0>, #v3]} : (memref<1x6x4xbf16>, memref<1x1x4x16xbf16>, memref<1x6x2xvector<8xf32>>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'morello.matmul' op has no attribute 'accum'; write accum = …, an option of the kind}}
  "morello.matmul"(%a, %b, %c) {limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'accum' must be true or false, not '"yes"'}}
  "morello.matmul"(%a, %b, %c) {accum = "yes", limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#i3 = #morello.tensor<"s32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xi32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{matmul has no product s32,f32,f32; use factors of f32, bf16 or f16 with an output of f32, or integers no wider than an output of s32 or s16, or of at most 16 bits and f32: bf16,bf16,f32; u8,s8,s32; f32,s8,f32}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#i3, #g3, #g3]} : (memref<1x6x4xi32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>) {
  // expected-error@+1 {{has 2 operands, but matmul has 3: lhs, rhs, out}}
  "morello.matmul"(%a, %b) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{op expects exactly 0 results, but got 1}}
  %0 = "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> i32
  return
}

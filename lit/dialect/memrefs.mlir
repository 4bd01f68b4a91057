// The memrefs of operands: what is accepted, and every refusal.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Tiles of larger arrays; packs whole and cut to the tile.
// CHECK-COUNT-2: morello.matmul
func.func @f(%a: memref<1x6x4xf32, strided<[999, 64, 1], offset: ?>>, %b: memref<1x1x4x16xf32>, %c: memref<1x6x8xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 8>, tensors = [#s3, #p3, #g3]} : (memref<1x6x4xf32, strided<[999, 64, 1], offset: ?>>, memref<1x1x4x16xf32>, memref<1x6x8xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x1x4x8xf32, strided<[128, 128, 16, 1], offset: 8>>, %c: memref<1x6x8xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 8>, tensors = [#s3, #p3, #g3]} : (memref<1x6x4xf32>, memref<1x1x4x8xf32, strided<[128, 128, 16, 1], offset: 8>>, memref<1x6x8xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false, 0>
#oe3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,2oe16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// One odd-even element, and a last dimension of one element with any stride.
// CHECK: morello.matmul
func.func @f(%a: memref<1x6x1xf32, strided<[999, 64, 5]>>, %b: memref<1x1x1x1xf32, strided<[16, 16, 16, 1], offset: 9>>, %c: memref<1x6x1xf32>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 1, 1>, tensors = [#s3, #oe3, #g3]} : (memref<1x6x1xf32, strided<[999, 64, 5]>>, memref<1x1x1x1xf32, strided<[16, 16, 16, 1], offset: 9>>, memref<1x6x1xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: tensor<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{operand 'rhs' is tensor<1x4x16xf32>, not a memref; use memref<1x4x16xf32>}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, tensor<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32, 1>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{operand 'lhs' has the memory space 1 : i64, not none}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32, 1>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xi32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{operand 'lhs' of form f32@MEM[0,1,2]! has elements i32, not f32}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xi32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#v3 = #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x2xvector<16xf32>>) {
  // expected-error@+1 {{operand 'out' of form f32@VRF[0,1,2]v8 has elements vector<16xf32>, not vector<8xf32>}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #v3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x2xvector<16xf32>>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#v3 = #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xvector<8xf32>>) {
  // expected-error@+1 {{its shape must be 1x6x2}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #v3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xvector<8xf32>>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{operand 'lhs' of sizes 1x6x4 and form f32@MEM[0,1,2]! is memref<6x4xf32>; its shape must be 1x6x4}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x5xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{is memref<1x6x5xf32>; its shape must be 1x6x4}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x5xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x?x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{its shape must be 1x6x4}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x?x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x1x4x12xf32>, %c: memref<1x6x8xf32>) {
  // expected-error@+1 {{is memref<1x1x4x12xf32>; its shape must be 1x1x4x8 or 16}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 8>, tensors = [#g3, #p3, #g3]} : (memref<1x6x4xf32>, memref<1x1x4x12xf32>, memref<1x6x8xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#oe3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,2oe16]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x1x8xf32>, %c: memref<1x6x8xf32>) {
  // expected-error@+1 {{its shape must be 1x4x1x16}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 8>, tensors = [#g3, #oe3, #g3]} : (memref<1x6x4xf32>, memref<1x4x1x8xf32>, memref<1x6x8xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32, affine_map<(d0, d1, d2) -> (d0, d1 mod 3, d2)>>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{whose layout is not strided; write it as strided<[…], offset: …>}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32, affine_map<(d0, d1, d2) -> (d0, d1 mod 3, d2)>>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32, strided<[24, ?, 1]>>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{which has gaps; use the strides [24, 4, 1], or a form that is not contiguous}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32, strided<[24, ?, 1]>>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#s3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32, strided<[24, 1, 6]>>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{its last dimension has stride 6, not 1}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#s3, #g3, #g3]} : (memref<1x6x4xf32, strided<[24, 1, 6]>>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32, strided<[48, 8, 1]>>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{which has gaps; use the strides [24, 4, 1], or a form that is not contiguous}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32, strided<[48, 8, 1]>>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#v3 = #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x2xvector<8xf32>, strided<[24, 4, 1]>>) {
  // expected-error@+1 {{which has gaps; use the strides [12, 2, 1]}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #v3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x2xvector<8xf32>, strided<[24, 4, 1]>>) -> ()
  return
}

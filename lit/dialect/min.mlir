// morello.min: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.min"(%arg0, %arg1) {accum = false, limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true, sizes = array<i64: 8, 16>
func.func @f(%a: memref<8x16xf32>, %b: memref<8xf32>) {
  "morello.min"(%a, %b) {accum = false, limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1]} : (memref<8x16xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.min"(%arg0, %arg1) {accum = true
func.func @f(%a: memref<8x16xf32>, %b: memref<8xf32>) {
  "morello.min"(%a, %b) {accum = true, limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1]} : (memref<8x16xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8xf32>) {
  // expected-error@+1 {{has no attribute 'accum'}}
  "morello.min"(%a, %b) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1]} : (memref<8x16xf32>, memref<8xf32>) -> ()
  return
}

// -----

#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xi8>, %b: memref<8xi8>) {
  // expected-error@+1 {{min has no dtype s8; use f32 or s32}}
  "morello.min"(%a, %b) {accum = false, limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#morello.tensor<"s8", "MEM", #morello.layout<"[0,1]">, true, 0>, #morello.tensor<"s8", "MEM", #morello.layout<"[0]">, true, 0>]} : (memref<8x16xi8>, memref<8xi8>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<16xf32>) {
  // expected-error@+1 {{operand 'out' of sizes 8 and form f32@MEM[0]! is memref<16xf32>; its shape must be 8}}
  "morello.min"(%a, %b) {accum = false, limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1]} : (memref<8x16xf32>, memref<16xf32>) -> ()
  return
}

// morello.move: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.move"(%arg0, %arg1) {limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true, sizes = array<i64: 8, 16>
func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  "morello.move"(%a, %b) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#b2 = #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1]">, true, 0>
#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A cast.
// CHECK: (memref<8x16xbf16>, memref<8x16xf32>) -> ()
func.func @f(%a: memref<8x16xbf16>, %b: memref<8x16xf32>) {
  "morello.move"(%a, %b) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#b2, #l2]} : (memref<8x16xbf16>, memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A relayout.
// CHECK: (memref<8x16xf32>, memref<1x8x16xf32>) -> ()
func.func @f(%a: memref<8x16xf32>, %b: memref<1x8x16xf32>) {
  "morello.move"(%a, %b) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #morello.tensor<"f32", "L1", #morello.layout<"[1,0,1p16]">, false, 0>]} : (memref<8x16xf32>, memref<1x8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xi32>) {
  // expected-error@+1 {{move has no cast from f32 to s32; cast floats to floats, integers to integers, and those of at most 16 bits to f32}}
  "morello.move"(%a, %b) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #morello.tensor<"s32", "L1", #morello.layout<"[0,1]">, false, 0>]} : (memref<8x16xf32>, memref<8x16xi32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32>) {
  // expected-error@+1 {{has 3 operands, but move has 2: src, dst}}
  "morello.move"(%a, %b, %c) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<16x8xf32>) {
  // expected-error@+1 {{operand 'dst' of sizes 8x16 and form f32@L1[0,1] is memref<16x8xf32>; its shape must be 8x16}}
  "morello.move"(%a, %b) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #l2]} : (memref<8x16xf32>, memref<16x8xf32>) -> ()
  return
}

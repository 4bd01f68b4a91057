// morello.unary: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.unary"(%arg0, %arg1) {function = "exp", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true, sizes = array<i64: 8, 16>
func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  "morello.unary"(%a, %b) {function = "exp", limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{unary has no function 'cosh'}}
  "morello.unary"(%a, %b) {function = "cosh", limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#s2 = #morello.tensor<"s32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xi32>, %b: memref<8x16xi32>) {
  // expected-error@+1 {{exp has no dtype s32; use f32, bf16 or f16}}
  "morello.unary"(%a, %b) {function = "exp", limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#s2, #s2]} : (memref<8x16xi32>, memref<8x16xi32>) -> ()
  return
}

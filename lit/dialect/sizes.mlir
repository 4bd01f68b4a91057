// Ranges of sizes: what can be read, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: ranges = "m=4..28/8"
func.func @f(%a: memref<1x28x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x28x16xf32>, %m: index) {
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "m=4..28/8", serial = true, sizes = array<i64: 1, 28, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x28x4xf32>, memref<1x4x16xf32>, memref<1x28x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x28x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x28x16xf32>, %m: index) {
  // expected-error@+1 {{'ranges' is 'm=1..27', which does not end with a size}}
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "m=1..27", serial = true, sizes = array<i64: 1, 28, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x28x4xf32>, memref<1x4x16xf32>, memref<1x28x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x28x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x28x16xf32>, %m: index) {
  // expected-error@+1 {{'ranges' is 'q=1..28'; write b=1..64, for example}}
  "morello.matmul"(%a, %b, %c) {accum = true, limits = #limits, ranges = "q=1..28", serial = true, sizes = array<i64: 1, 28, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x28x4xf32>, memref<1x4x16xf32>, memref<1x28x16xf32>) -> ()
  return
}

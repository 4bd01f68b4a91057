// morello.fill: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.fill"(%arg0) {limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true, sizes = array<i64: 8, 16>
// CHECK-SAME: value = "zero"
func.func @f(%a: memref<8x16xf32>) {
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2], value = "zero"} : (memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: value = "lowest"
func.func @f(%a: memref<8x16xf32>) {
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2], value = "lowest"} : (memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>) {
  // expected-error@+1 {{fill has no value 'one'; use one of zero, lowest, highest, or an integer from -128 to 255 but 0}}
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2], value = "one"} : (memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>) {
  // expected-error@+1 {{'value' must be a string, not '0 : i64'}}
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2], value = 0} : (memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>) {
  // expected-error@+1 {{has no attribute 'value'; write value = …, an option of the kind}}
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2]} : (memref<8x16xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>) {
  // expected-error@+1 {{operand 'out' of fill has 0 dimensions but its layout [0,1] has 2}}
  "morello.fill"(%a) {limits = #limits, serial = true, sizes = array<i64>, tensors = [#g2], value = "zero"} : (memref<8x16xf32>) -> ()
  return
}

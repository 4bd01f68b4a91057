// The attributes: round trip, and what is no layout, form or limit.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#p3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0>
#v3 = #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: limits = #morello.limits<"vrf=16,l1=512,l2=8192">
// CHECK-SAME: #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i64>
// CHECK-SAME: #morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, false, 0 : i64>
// CHECK-SAME: #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8 : i64>
func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x1x4x16xf32>, %c: memref<1x6x2xvector<8xf32>>) {
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #p3, #v3]} : (memref<1x6x4xf32>, memref<1x1x4x16xf32>, memref<1x6x2xvector<8xf32>>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'0,1,2' is not a layout; write it as [0,2,1,2p16]}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"0,1,2">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'x' in the layout '[0,1,x]' is not a dimension; write 1 for a whole dimension}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,x]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{layout [0,1,1] does not name each of the dimensions 0 to 2 whole exactly once}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,1]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{layout [0,1,2,2p16,2p4] packs a dimension twice or one it lacks}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,2p16,2p4]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{has the pack 2p16 outside its own dimension}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2p16,2]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{the pack 2oe5 must be at least 2 and, odd-even, even}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2,2oe5]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{unknown dtype 'f64'; use one of f32, bf16, f16, u8}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f64", "MEM", #morello.layout<"[0,1,2]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{unknown memory level 'L3'; use one of VRF, L1, L2, MEM}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "L3", #morello.layout<"[0,1,2]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'contiguous' of a form must be true or false, not '1 : i64'}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, 1, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{the vector width of a form must be an integer (i64), not '0 : i32'}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0 : i32>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{the vector width -8 of}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, -8>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{a vector width goes with level VRF and no other; write for example f32@VRF[0,1,2]v8}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, false, 8>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{a vector width goes with level VRF and no other}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{registers hold row-major tiles only}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "VRF", #morello.layout<"[0,2,1]">, false, 8>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{only an unpacked layout can be contiguous}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,2,1,2p16]">, true, 0>, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'"f32"' is not the form of an operand; write #morello.tensor<}}
  "morello.matmul"(%a, %b, %c) {accum = false, limits = #limits, serial = true, sizes = array<i64: 1, 6, 4, 16>, tensors = ["f32", #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'l1=512' is not a set of limits; write vrf=16,l1=512,l2=8192}}
  "morello.matmul"(%a, %b, %c) {accum = false, serial = true, limits = #morello.limits<"l1=512">, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'vrf=-1,l1=512,l2=0' is not a set of limits}}
  "morello.matmul"(%a, %b, %c) {accum = false, serial = true, limits = #morello.limits<"vrf=-1,l1=512,l2=0">, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'vrf=16,l1=9999999999,l2=0' is not a set of limits}}
  "morello.matmul"(%a, %b, %c) {accum = false, serial = true, limits = #morello.limits<"vrf=16,l1=9999999999,l2=0">, sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

#g3 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x6x4xf32>, %b: memref<1x4x16xf32>, %c: memref<1x6x16xf32>) {
  // expected-error@+1 {{'"vrf=16"' is not a set of limits; write #morello.limits<"vrf=16,l1=512,l2=8192">}}
  "morello.matmul"(%a, %b, %c) {accum = false, serial = true, limits = "vrf=16", sizes = array<i64: 1, 6, 4, 16>, tensors = [#g3, #g3, #g3]} : (memref<1x6x4xf32>, memref<1x4x16xf32>, memref<1x6x16xf32>) -> ()
  return
}

// -----

// expected-error@+1 {{expected base attribute 'builtin.string' but got 'builtin.integer'}}
func.func private @g() attributes {morello.x = #morello.layout<3>}

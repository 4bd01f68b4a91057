// morello.kernel: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.kernel"(%arg0, %arg1) {kernel = "copy_rows", kind = "move"
// CHECK-SAME: options = {}, serial = true, sizes = array<i64: 8, 16>
func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  "morello.kernel"(%a, %b) {kernel = "copy_rows", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#u3 = #morello.tensor<"u8", "L1", #morello.layout<"[0,1,2]">, false, 0>
#s3 = #morello.tensor<"s8", "L1", #morello.layout<"[0,1,2]">, false, 0>
#o3 = #morello.tensor<"s16", "L1", #morello.layout<"[0,1,2]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: options = {accum = true, saturating = true}
func.func @f(%a: memref<1x1x2xi8>, %b: memref<1x2x1xi8>, %c: memref<1x1x1xi16>) {
  "morello.kernel"(%a, %b, %c) {kernel = "scalar", kind = "matmul", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = true, saturating = true}, serial = true, sizes = array<i64: 1, 1, 2, 1>, tensors = [#u3, #s3, #o3]} : (memref<1x1x2xi8>, memref<1x2x1xi8>, memref<1x1x1xi16>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: options = {value = "zero"}
func.func @f(%a: memref<8x16xf32>) {
  "morello.kernel"(%a) {kernel = "fill_rows", kind = "fill", limits = #limits, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, options = {value = "zero"}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2]} : (memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{has no attribute 'kernel'}}
  "morello.kernel"(%a, %b) {kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{'kernel' must be a string, not '3 : i64'}}
  "morello.kernel"(%a, %b) {kernel = 3, kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{unknown kernel 'move_fast'; use one of gemm_registers,}}
  "morello.kernel"(%a, %b) {kernel = "move_fast", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{kernel 'fill_rows' does not implement move:8x16 f32@L1[0,1] f32@L1[0,1] vrf=16,l1=512,l2=8192; those that do: copy_rows}}
  "morello.kernel"(%a, %b) {kernel = "fill_rows", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{has no attribute 'kind'; write kind = "matmul"}}
  "morello.kernel"(%a, %b) {kernel = "copy_rows", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{unknown kind 'copy'; use one of matmul, }}
  "morello.kernel"(%a, %b) {kernel = "copy_rows", kind = "copy", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{has no attribute 'options'; write options = {…}, those of the kind}}
  "morello.kernel"(%a, %b) {kernel = "copy_rows", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>) {
  // expected-error@+1 {{'options' of fill is {}; write options = {value = …}}}
  "morello.kernel"(%a) {kernel = "fill_rows", kind = "fill", limits = #limits, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2]} : (memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>) {
  // expected-error@+1 {{fill has no value 'one'; use one of zero, lowest, highest}}
  "morello.kernel"(%a) {kernel = "fill_rows", kind = "fill", limits = #limits, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, options = {value = "one"}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2]} : (memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32>) {
  // expected-error@+1 {{has 3 operands, but move has 2: src, dst}}
  "morello.kernel"(%a, %b, %c) {kernel = "copy_rows", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{has no attribute 'operandSegmentSizes'; write operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}}
  "morello.kernel"(%a, %b) {kernel = "copy_rows", kind = "move", limits = #limits, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{'operandSegmentSizes' is array<i32: 1, 0, 1, 0, 0, 0, 0, 0>; it must be array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}}
  "morello.kernel"(%a, %b) {kernel = "copy_rows", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 16>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

#l2 = #morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%a: memref<8x16xf32>, %b: memref<8x16xf32>) {
  // expected-error@+1 {{size 0 of dimension d1 of move is not between 1 and}}
  "morello.kernel"(%a, %b) {kernel = "copy_rows", kind = "move", limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 8, 0>, tensors = [#l2, #l2]} : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

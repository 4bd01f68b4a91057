// morello.compose: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// CHECK: "morello.compose"(%arg0, %arg1, %arg2) {graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["exp", ["sub", 0, 1]], map = #map{{[0-9]*}}, output = "accumulate", reduction = "sum"}]}, limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>
func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{has no attribute 'graph'}}
  "morello.compose"(%x, %m, %l) {limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{compose has 2 dimensions (d0,d1) but 1 sizes}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{operand 'x0' of sizes 8x17 and form f32@MEM[0,1]! is memref<8x16xf32>; its shape must be 8x17}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 17>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{compose has 3 operands but 2 forms}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{'operandSegmentSizes' is array<i32: 1, 0, 1, 1, 0, 0, 0, 0>; it must be array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#a2 = #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// An option that may be left out.
// CHECK: "morello.compose"(%arg0, %arg1, %arg2) {flushing = true, graph
func.func @f(%a: memref<8x16xbf16>, %b: memref<16x4xbf16>, %y: memref<8x4xf32>) {
  "morello.compose"(%a, %b, %y) {flushing = true, graph = {inputs = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], nodes = [{body = ["mul", 0, 1], map = affine_map<(d0, d1, d2) -> (d0, d1)>, reduction = "sum"}, {body = ["relu", 2], map = affine_map<(d0, d1, d2) -> (d0, d1)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 4, 16>, tensors = [#a2, #a2, #g2]} : (memref<8x16xbf16>, memref<16x4xbf16>, memref<8x4xf32>) -> ()
  return
}

// -----

#a2 = #morello.tensor<"bf16", "MEM", #morello.layout<"[0,1]">, true, 0>
#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{compose has no product that flushes; leave flushing=true out}}
  "morello.compose"(%x, %m, %l) {flushing = true, graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

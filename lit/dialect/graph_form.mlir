// The graph of morello.compose: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#x = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// A border of zeros, and one scale for each block.
// CHECK: #[[BORDER:map[0-9]*]] = affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)>
// CHECK: #[[BLOCKS:map[0-9]*]] = affine_map<(d0, d1) -> (d1 floordiv 4)>
// CHECK: {graph = {after = [array<i64: 0>, array<i64: 1>, array<i64: 0>], inputs = [#{{map[0-9]*}}, #[[BORDER]], #[[BLOCKS]]]
func.func @windows(%w: memref<8xf32>, %x: memref<14xf32>, %s: memref<2xf32>, %y: memref<5xf32>) {
  "morello.compose"(%w, %x, %s, %y) {graph = {after = [array<i64: 0>, array<i64: 1>, array<i64: 0>], inputs = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)>, affine_map<(d0, d1) -> (d1 floordiv 4)>], nodes = [{body = ["mul", ["mul", 0, 1], 2], map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, serial = true, sizes = array<i64: 5, 8>, tensors = [#x, #x, #x, #x]} : (memref<8xf32>, memref<14xf32>, memref<2xf32>, memref<5xf32>) -> ()
  return
}

// -----

#f = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#q = #morello.tensor<"u8", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Two numbers of 4 bits in each byte.
// CHECK: #[[BYTES:map[0-9]*]] = affine_map<(d0) -> (d0 floordiv 2)>
// CHECK: {graph = {halves = [array<i64: 1>], inputs = [#[[BYTES]]]
func.func @nibbles(%q: memref<4xi8>, %y: memref<8xf32>) {
  "morello.compose"(%q, %y) {graph = {halves = [array<i64: 1>], inputs = [affine_map<(d0) -> (d0 floordiv 2)>], nodes = [{body = ["neg", 0], map = affine_map<(d0) -> (d0)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8>, tensors = [#q, #f]} : (memref<4xi8>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{there is no function 'zeta'}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["zeta", 0], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{the graph out v0[d1]+=sum(exp(x0[d1,d0]-x1[d1])) is not in canonical form; write graph = {inputs = }}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d1)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{'d1 mod 2' is no axis}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1 mod 2)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{is no value, number or call}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["exp", 5], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{no node is an output}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = 0, map = affine_map<(d0, d1) -> (d0)>, reduction = "sum"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

#g2 = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

func.func @f(%x: memref<8x16xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error@+1 {{'map' reduces 1 dimensions}}
  "morello.compose"(%x, %m, %l) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["sub", 0, 1], map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "map"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 8, 16>, tensors = [#g2, #g1, #g1]} : (memref<8x16xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// convert-stablehlo-to-morello: before and after, and refusals, all of them.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(convert-stablehlo-to-morello)' | FileCheck %s

// Two maps are one graph, on elements in a row.
// CHECK-LABEL: func.func private @main_part0(
// CHECK: "morello.compose"(%arg0, %arg1, %arg2) {graph = {inputs = [#map{{[0-9]*}}, #map{{[0-9]*}}], nodes = [{body = ["exp", ["add", 0, 1]], map = #map{{[0-9]*}}, output = "overwrite", reduction = "map"}]}
// CHECK-SAME: sizes = array<i64: 32>
// CHECK: func.func @main(%arg0: memref<4x8xf32>, %arg1: memref<4x8xf32>, %arg2: memref<4x8xf32>)
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.add %x, %y : tensor<4x8xf32>
  %1 = stablehlo.exponential %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{tensor<?x8xf32> has a dynamic shape, and a Spec has sizes; export it with static shapes}}
  %1 = stablehlo.exponential %x : tensor<?x8xf32>
  // expected-error@+1 {{tensor<?x8xf32> has a dynamic shape}}
  return %1 : tensor<?x8xf32>
}

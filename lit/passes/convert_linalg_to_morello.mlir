// convert-linalg-to-morello: before and after, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(convert-linalg-to-morello)' | FileCheck %s

// A product is one matmul; the result is an argument.
// CHECK-LABEL: func.func private @rows_part0(
// CHECK: "morello.matmul"(%arg0, %arg1, %arg2) {accum = false
// CHECK-SAME: sizes = array<i64: 1, 4, 8, 16>
// CHECK: func.func @rows(%arg0: memref<4x8xf32>, %arg1: memref<8x16xf32>, %arg2: memref<4x16xf32>)
// CHECK: call @rows_part0(
func.func @rows(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fill : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// What is no function stays.
// CHECK: memref.global @table : memref<2xf32>
// CHECK-LABEL: func.func private @beside_part0(
// CHECK: body = ["neg", 0]
// CHECK: func.func @beside(%arg0: memref<4xf32>, %arg1: memref<4xf32>)
memref.global @table : memref<2xf32>
func.func @beside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.negf ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A transposition is how an operand lies.
// CHECK-LABEL: func.func private @columns_part0(
// CHECK: "morello.matmul"
// CHECK-SAME: #morello.layout<"[0,2,1]">
func.func @columns(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %turned = tensor.empty() : tensor<8x16xf32>
  %t = linalg.transpose ins(%w : tensor<16x8xf32>) outs(%turned : tensor<8x16xf32>) permutation = [1, 0]
  %empty = tensor.empty() : tensor<4x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fill : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// What is no Spec is loops, and modules in modules are converted, too.
// CHECK: module @inner
// CHECK: "morello.compose"
// CHECK: func.func @integers(%arg0: memref<4x8xf32>, %arg1: memref<4x8xi32>)
// CHECK: call @integers_part1(
// CHECK: func.func private @integers_part1(
// CHECK: arith.fptosi
#same = affine_map<(i, j) -> (i, j)>
module @inner {
  func.func @integers(%x: tensor<4x8xf32>) -> tensor<4x8xi32> {
    %floats = tensor.empty() : tensor<4x8xf32>
    %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%floats : tensor<4x8xf32>) -> tensor<4x8xf32>
    %empty = tensor.empty() : tensor<4x8xi32>
    %z = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x8xf32>) outs(%empty : tensor<4x8xi32>) {
    ^bb0(%element: f32, %out: i32):
      %integer = arith.fptosi %element : f32 to i32
      linalg.yield %integer : i32
    } -> tensor<4x8xi32>
    return %z : tensor<4x8xi32>
  }
}

// -----

func.func @too_large(%x: tensor<2147483648xf32>) -> tensor<2147483648xf32> {
  %empty = tensor.empty() : tensor<2147483648xf32>
  // expected-error @below {{size 2147483648 of dimension d0 of exp is not between 1 and 2147483647}}
  %y = linalg.exp ins(%x : tensor<2147483648xf32>) outs(%empty : tensor<2147483648xf32>) -> tensor<2147483648xf32>
  return %y : tensor<2147483648xf32>
}

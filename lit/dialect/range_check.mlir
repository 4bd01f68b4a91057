// morello.range_check: round trip and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics | %morello-opt --split-input-file | FileCheck %s

#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>

// CHECK: "morello.range_check"(%arg0) {part = "s7", sizes = array<i64: 1, 8, 16>
// CHECK-SAME: (memref<1x8x16xi8>) -> i1
func.func @f(%a: memref<1x8x16xi8>) -> i1 {
  %0 = "morello.range_check"(%a) {part = "s7", sizes = array<i64: 1, 8, 16>, tensor = #s3} : (memref<1x8x16xi8>) -> i1
  return %0 : i1
}

// -----

#u3 = #morello.tensor<"u8", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x8x16xi8>) -> i1 {
  // expected-error@+1 {{'part' is s7, which is no part of u8; use an operand of s8}}
  %0 = "morello.range_check"(%a) {part = "s7", sizes = array<i64: 1, 8, 16>, tensor = #u3} : (memref<1x8x16xi8>) -> i1
  return %0 : i1
}

// -----

#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x8x16xi8>) -> i1 {
  // expected-error@+1 {{'part' is s8, which is no part of s8; use s7}}
  %0 = "morello.range_check"(%a) {part = "s8", sizes = array<i64: 1, 8, 16>, tensor = #s3} : (memref<1x8x16xi8>) -> i1
  return %0 : i1
}

// -----

#p3 = #morello.tensor<"s8", "L2", #morello.layout<"[0,2,1,2p16,1p4]">, false, 0>

func.func @f(%a: memref<1x1x2x16x4xi8>) -> i1 {
  // expected-error@+1 {{is packed or in registers; check it before it is moved}}
  %0 = "morello.range_check"(%a) {part = "s7", sizes = array<i64: 1, 8, 16>, tensor = #p3} : (memref<1x1x2x16x4xi8>) -> i1
  return %0 : i1
}

// -----

#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x8x17xi8>) -> i1 {
  // expected-error@+1 {{its shape must be 1x8x16}}
  %0 = "morello.range_check"(%a) {part = "s7", sizes = array<i64: 1, 8, 16>, tensor = #s3} : (memref<1x8x17xi8>) -> i1
  return %0 : i1
}

// -----

#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x8x16xi8>) -> i32 {
  // expected-error@+1 {{has another result than one i1; write -> i1}}
  %0 = "morello.range_check"(%a) {part = "s7", sizes = array<i64: 1, 8, 16>, tensor = #s3} : (memref<1x8x16xi8>) -> i32
  return %0 : i32
}

// -----

#s3 = #morello.tensor<"s8", "MEM", #morello.layout<"[0,1,2]">, true, 0>

func.func @f(%a: memref<1x8x16xi8>) -> i1 {
  // expected-error@+1 {{has no attribute 'part'; write part = "s7"}}
  %0 = "morello.range_check"(%a) {sizes = array<i64: 1, 8, 16>, tensor = #s3} : (memref<1x8x16xi8>) -> i1
  return %0 : i1
}

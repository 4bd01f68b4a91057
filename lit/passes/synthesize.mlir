// morello-synthesize: the schedule that it adds, and refusals.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-synthesize)' | FileCheck %s
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-synthesize{target=avx2})' | FileCheck %s
// RUN: not %morello-opt %s -p 'builtin.module(morello-synthesize{target=z80})' 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: unknown target 'z80'

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Two ops of one Spec: each is marked and matched by its own mark; the program has a
// name and is included twice.
// CHECK: module attributes {{.*}}transform.with_named_sequence} {
// CHECK: "morello.fill"(%{{.*}}) {limits = {{.*}}, morello.id = 0 : i64,
// CHECK: "morello.fill"(%{{.*}}) {limits = {{.*}}, morello.id = 1 : i64,
// CHECK: transform.named_sequence @[[NAME:fill_8]](%{{.*}}: !transform.any_op {transform.consumed}) {
// CHECK: "morello_transform.move"(%{{.*}}) {layout = #morello.layout<"[0]">, level = "L1", operand = "out"}
// CHECK: "morello_transform.select"(%{{.*}}) {kernel = "fill_rows"}
// CHECK: transform.named_sequence @__transform_main(%[[ROOT:.*]]: !transform.any_op {transform.readonly}) {
// CHECK-NEXT: %[[FIRST:.*]] = transform.structured.match ops{["morello.fill"]} attributes {morello.id = 0 : i64} in %[[ROOT]]
// CHECK-NEXT: transform.include @[[NAME]] failures(propagate) (%[[FIRST]])
// CHECK-NEXT: %[[SECOND:.*]] = transform.structured.match ops{["morello.fill"]} attributes {morello.id = 1 : i64} in %[[ROOT]]
// CHECK-NEXT: transform.include @[[NAME]] failures(propagate) (%[[SECOND]])
// CHECK-NEXT: transform.yield
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 8>, tensors = [#g1]} : (memref<8xf32>) -> ()
  "morello.fill"(%b) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 8>, tensors = [#g1]} : (memref<8xf32>) -> ()
  return
}

// -----

#k2 = #morello.tensor<"s32", "L1", #morello.layout<"[0,1]">, false, 0>
#k1 = #morello.tensor<"s32", "L1", #morello.layout<"[0]">, false, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// Operands that are in L1 already need no move.
// CHECK-LABEL: func.func @near(
// CHECK-NOT: morello_transform.move
// CHECK: "morello_transform.select"(%{{.*}}) {kernel = "
func.func @near(%a: memref<1x1xi32>, %b: memref<1xi32>) {
  "morello.compose"(%a, %b) {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>], nodes = [{body = 0 : i64, map = affine_map<(d0, d1) -> (d0)>, output = "overwrite", reduction = "max"}]}, limits = #limits, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, serial = true, sizes = array<i64: 1, 1>, tensors = [#k2, #k1]} : (memref<1x1xi32>, memref<1xi32>) -> ()
  return
}

// -----

// expected-error@+1 {{the module has no Spec op; those are morello.matmul, }}
module {
  func.func @nothing() {
    return
  }
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<8xf32>) {
    "morello.fill"(%a) {value = "zero", limits = #limits, serial = true, sizes = array<i64: 8>, tensors = [#g1]} : (memref<8xf32>) -> ()
    return
  }
  // expected-error@+1 {{the module has a schedule; run morello-apply-schedule, erase it, or give the option fill=true}}
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}

// -----

#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">

// No registers, no cache: nothing can be brought where kernels take it.
func.func @poor(%a: memref<8xf32>) {
  // expected-error@+1 {{no program exists for fill:8}}
  "morello.fill"(%a) {value = "zero", limits = #morello.limits<"vrf=16,l1=0,l2=0">, serial = true, sizes = array<i64: 8>, tensors = [#g1]} : (memref<8xf32>) -> ()
  return
}

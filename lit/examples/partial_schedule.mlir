// A schedule begun by hand: the search fills what it leaves, and prints it complete.
// RUN: %morello run matmul_accum:100x37x53:f32 --schedule %S/../../examples/partial_schedule.mlir | FileCheck %s --check-prefix=EXACT
// RUN: %morello-opt %S/../../examples/partial_schedule.mlir -p 'builtin.module(morello-synthesize{fill=true})' | FileCheck %s
// RUN: %morello-opt %S/../../examples/partial_schedule.mlir -p 'builtin.module(morello-synthesize{fill=true},morello-apply-schedule)' | FileCheck %s --check-prefix=APPLIED
// RUN: not %morello-opt %S/../../examples/partial_schedule.mlir -p 'builtin.module(morello-apply-schedule,morello-lower-kernels)' 2>&1 | FileCheck %s --check-prefix=LEFT

// EXACT: filled in
// EXACT: result{{ +}}exact

// What was written comes first; then the holes, where their handles are.
// CHECK: transform.named_sequence @__transform_main
// CHECK-NEXT: %[[ALL:.*]] = transform.structured.match
// CHECK-NEXT: %[[COLUMNS:.*]]:2 = "morello_transform.tile"(%[[ALL]]) {dim = "n", size = 48
// CHECK-NEXT: %[[PACKING:.*]]:3 = "morello_transform.move"(%[[COLUMNS]]#0)
// CHECK-NEXT: %[[PANEL:.*]]:2 = "morello_transform.tile"(%[[PACKING]]#1) {dim = "n", size = 16
// CHECK-NEXT: transform.include @rows failures(propagate) (%[[PANEL]]#0)
// CHECK-NEXT: (%[[COLUMNS]]#1)
// CHECK: (%[[PACKING]]#0)
// CHECK: transform.yield
// CHECK: transform.named_sequence @rows(%[[ROWS:.*]]: !transform.any_op {transform.consumed})
// CHECK-NEXT: %[[SIX:.*]]:2 = "morello_transform.tile"(%[[ROWS]]) {dim = "m", size = 6
// CHECK-NEXT: (%[[SIX]]#0)
// CHECK: "morello_transform.select"
// CHECK: (%[[SIX]]#1)

// APPLIED-NOT: "morello.matmul"
// APPLIED-NOT: "morello.move"
// APPLIED: kernel = "gemm_registers"

// LEFT: error: 'morello.move' op has no program: its schedule leaves

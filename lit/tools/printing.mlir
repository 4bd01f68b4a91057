// RUN: %morello-opt %s -p 'builtin.module(cse,test-fail{how=pass})' --load-pass-plugin=%inputs/faulty_passes.py --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: %morello-opt %s -p 'builtin.module(cse)' --mlir-print-ir-before-all -o %t 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: %morello-opt %s -p 'builtin.module(symbol-dce,cse)' --mlir-print-ir-after-all --mlir-print-ir-after-change -o %t 2>&1 | FileCheck %s --check-prefix=CHANGE
// RUN: %morello-opt %s --mlir-print-op-generic --mlir-print-assume-verified | FileCheck %s --check-prefix=GENERIC
// RUN: %morello-opt %s --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=DEBUG
// RUN: %morello-opt %s -p 'builtin.module(cse)' --mlir-timing -o %t 2>&1 | FileCheck %s --check-prefix=TIMING

// AFTER: IR Dump After CSEPass
// AFTER: IR Dump After Fail: test-fail{how=pass times=1 loud=false} //----- //
// AFTER: attributes {tested}
// BEFORE: IR Dump Before CSEPass
// CHANGE-NOT: SymbolDCE
// CHANGE: IR Dump After CSEPass
// GENERIC: "func.func"()
// DEBUG: arith.addi {{.*}} loc("{{.*}}printing.mlir":[[# @LINE + 5]]:8)
// TIMING: Execution time report
// TIMING: CSEPass

func.func @twice(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}

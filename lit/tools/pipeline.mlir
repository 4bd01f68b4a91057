// Passes of Morello and of MLIR in one pipeline, nested and with options.
// RUN: %morello-opt %s -p 'builtin.module(func.func(canonicalize{max-iterations=3},cse), test-fail{how=pass} ,symbol-dce)' --load-pass-plugin=%inputs/faulty_passes.py | FileCheck %s
// RUN: %morello-opt %s -pass-pipeline='builtin.module(test-tidy{passes="test-fail{how=pass},cse"})' --load-pass-plugin=%inputs/faulty_passes.py | FileCheck %s
// RUN: %morello-opt %s -p 'builtin.module(test-tidy,func.func(cse))' --dump-pass-pipeline --load-pass-plugin=%inputs/faulty_passes.py -o %t 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: %morello-opt %s | FileCheck %s --check-prefix=SAME
// RUN: %morello-opt %s --canonicalize='max-iterations=3' -cse --test-fail=how=pass --load-pass-plugin=%inputs/faulty_passes.py | FileCheck %s

// CHECK: func.func @twice(%[[A:.*]]: i32) -> i32 attributes {tested}
// CHECK-NEXT: %[[S:.*]] = arith.addi %[[A]], %[[A]]
// CHECK-NEXT: %[[P:.*]] = arith.muli %[[S]], %[[S]]
// CHECK-NEXT: return %[[P]]
// SAME-COUNT-2: arith.addi
// DUMP: Pass Manager with 3 passes:
// DUMP-NEXT: builtin.module(
// DUMP-NEXT:   cse,
// DUMP-NEXT:   canonicalize{{.*}},
// DUMP-NEXT:   func.func(
// DUMP-NEXT:     cse
// DUMP-NEXT:   )
// DUMP-NEXT: )
func.func @twice(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}

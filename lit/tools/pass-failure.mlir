// How a pass's failure is reported; nothing is printed on the standard output.
// RUN: not %morello-opt %s -p 'builtin.module(cse,test-fail)' --load-pass-plugin=%inputs/faulty_passes.py 2>&1 | FileCheck %s --check-prefix=REFUSE
// RUN: not %morello-opt %s -p 'builtin.module(test-fail{times=2 loud})' --load-pass-plugin=%inputs/faulty_passes.py 2>&1 | FileCheck %s --check-prefix=LOUD
// RUN: not %morello-opt %s -p 'builtin.module(test-fail{how=error})' --load-pass-plugin=%inputs/faulty_passes.py 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not %morello-opt %s -p 'builtin.module(morello-check-lowered)' 2>&1 | FileCheck %s --check-prefix=OURS

// REFUSE: pass-failure.mlir:[[# @LINE + 9]]:1: error: this op is refused
// REFUSE-NEXT: func.func @f() {
// REFUSE-NEXT: ^
// REFUSE-NOT: module {
// LOUD: pass-failure.mlir:[[# @LINE + 5]]:1: error: and once more
// LOUD: error: THIS OP IS REFUSED
// ERROR: pass-failure.mlir: error: no program exists; give more memory
// OURS: pass-failure.mlir:[[# @LINE + 2]]:1: error: 'func.func' is not lowered

func.func @f() {
  return
}

// A crash in native code is an error with a reproducer, and the reproducer reproduces.
// RUN: not %morello-opt %s -p 'builtin.module(func.func(affine-loop-unroll-jam{unroll-jam-factor=0}),cse)' --crash-reproducer=%t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=FILE < %t.mlir
// RUN: not %morello-opt %t.mlir -p 'builtin.module(func.func(affine-loop-unroll-jam{unroll-jam-factor=0}),cse)' --crash-reproducer=%t.again.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not %morello-opt %s -p 'builtin.module(test-fail{how=abort})' --load-pass-plugin=%inputs/faulty_passes.py --mlir-pass-pipeline-crash-reproducer=%t.2.mlir 2>&1 | FileCheck %s --check-prefix=ABORT
// RUN: not %morello-opt %s -p 'builtin.module(test-fail{how=raise})' --load-pass-plugin=%inputs/faulty_passes.py --crash-reproducer=%t.3.mlir 2>&1 | FileCheck %s --check-prefix=RAISE
// RUN: FileCheck %s --check-prefix=TRACE < %t.3.mlir

// CHECK: crash.mlir: error: internal error in pass 'func.func(affine-loop-unroll-jam{unroll-jam-factor=0})' (signal SIGFPE)
// CHECK-SAME: reproduces it
// FILE: // morello-opt {{.*}} '--pass-pipeline=builtin.module(func.func(affine-loop-unroll-jam{unroll-jam-factor=0}),cse)'
// FILE: affine.for
// AGAIN: (signal SIGFPE)
// ABORT: internal error in pass 'test-fail{how=abort}' (signal SIGABRT)
// RAISE: internal error in pass 'test-fail{how=raise}' (KeyError: 'missing')
// RAISE-NOT: Traceback
// TRACE: --load-pass-plugin=
// TRACE: // Traceback
func.func @f(%m: memref<10xf32>, %x: f32) {
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 10 {
      affine.store %x, %m[%j] : memref<10xf32>
    }
  }
  return
}

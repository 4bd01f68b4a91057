// The bundle expands to upstream passes between two of ours.
// RUN: %morello-opt %s -p 'builtin.module(morello-lower-to-llvm)' --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: %morello-opt %s -p 'builtin.module(morello-lower-to-llvm)' | FileCheck %s
// What is lowered stays as it is.
// RUN: %morello-opt %s -p 'builtin.module(morello-lower-to-llvm)' | %morello-opt - -p 'builtin.module(morello-lower-to-llvm)' | FileCheck %s
// RUN: not %morello-opt %s -p 'builtin.module(func.func(morello-lower-to-llvm))' 2>&1 | FileCheck %s --check-prefix=NESTED

// PASSES: morello-entry-points,
// PASSES-NEXT: canonicalize{
// PASSES: convert-func-to-llvm{
// PASSES-SAME: use-bare-ptr-memref-call-conv
// PASSES: morello-check-lowered
// NESTED: 'morello-lower-to-llvm' rewrites modules and cannot be nested in 'func.func'

// Bare pointers, noalias, and the alignment of an element.
// CHECK-LABEL: llvm.func @vectors
// CHECK-SAME: (%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias})
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK: llvm.intr.fmuladd
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
// CHECK-NOT: unrealized_conversion_cast
func.func @vectors(%a: memref<4x8xf32>, %c: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = memref.load %a[%c1, %c1] : memref<4x8xf32>
  %b = vector.broadcast %s : f32 to vector<8xf32>
  %v = vector.load %a[%c1, %c0] : memref<4x8xf32>, vector<8xf32>
  %r = vector.fma %v, %b, %v : vector<8xf32>
  vector.store %r, %c[%c1, %c0] : memref<4x8xf32>, vector<8xf32>
  return
}

// Strided windows that move are arithmetic on pointers, not on integers.
// CHECK-LABEL: llvm.func @windows
// CHECK: llvm.getelementptr
// CHECK-NOT: llvm.inttoptr
// CHECK-NOT: llvm.mlir.undef
// CHECK: llvm.return
func.func @windows(%a: memref<64x64xf32>, %c: memref<64x64xf32>, %w: memref<1024xi8>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c8 {
    %s = memref.subview %a[%i, 8] [8, 16] [1, 1]
        : memref<64x64xf32> to memref<8x16xf32, strided<[64, 1], offset: ?>>
    %t = memref.view %w[%c64][] : memref<1024xi8> to memref<8x16xf32>
    %v = vector.load %s[%c0, %c8] : memref<8x16xf32, strided<[64, 1], offset: ?>>, vector<8xf32>
    vector.store %v, %t[%c0, %c0] : memref<8x16xf32>, vector<8xf32>
    %u = vector.load %t[%c0, %c0] : memref<8x16xf32>, vector<8xf32>
    vector.store %u, %c[%i, %c0] : memref<64x64xf32>, vector<8xf32>
  }
  return
}

// Registers are one alloca at the entry, at constant places.
// CHECK-LABEL: llvm.func @registers
// CHECK-DAG: %[[TWELVE:.*]] = llvm.mlir.constant(12 : index) : i64
// CHECK: llvm.alloca %[[TWELVE]] x vector<8xf32> : (i64) -> !llvm.ptr
// CHECK-NOT: llvm.alloca
// CHECK: llvm.return
func.func @registers(%a: memref<96xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %regs = memref.alloca() : memref<1x6x2xvector<8xf32>>
  %v = vector.load %a[%c0] : memref<96xf32>, vector<8xf32>
  memref.store %v, %regs[%c0, %c5, %c1] : memref<1x6x2xvector<8xf32>>
  %u = memref.load %regs[%c0, %c5, %c1] : memref<1x6x2xvector<8xf32>>
  vector.store %u, %a[%c5] : memref<96xf32>, vector<8xf32>
  return
}

// Masked edges and loops that carry vectors.
// CHECK-LABEL: llvm.func @edges
// CHECK: llvm.intr.masked.load %{{.*}} {alignment = 4 : i32}
// CHECK: llvm.intr.masked.store %{{.*}} {alignment = 4 : i32}
func.func @edges(%a: memref<5xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : vector<8xf32>
  %m = vector.constant_mask [5] : vector<8xi1>
  %v = vector.maskedload %a[%c0], %m, %z : memref<5xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %v) -> (vector<8xf32>) {
    %y = arith.addf %x, %x : vector<8xf32>
    scf.yield %y : vector<8xf32>
  }
  vector.maskedstore %a[%c0], %m, %s : memref<5xf32>, vector<8xi1>, vector<8xf32>
  return
}

// Permutations and reductions.
// CHECK-LABEL: llvm.func @lanes
// CHECK: llvm.shufflevector
// CHECK: llvm.intr.vector.reduce.fadd
// CHECK: llvm.intr.vector.reduce.fmaximum
func.func @lanes(%a: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %u = vector.load %a[%c0] : memref<16xf32>, vector<8xf32>
  %v = vector.load %a[%c8] : memref<16xf32>, vector<8xf32>
  %w = vector.shuffle %u, %v [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
  %e = vector.extract_strided_slice %w {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
  %s = vector.reduction <add>, %e : vector<4xf32> into f32
  %x = vector.reduction <maximumf>, %u : vector<8xf32> into f32
  memref.store %s, %a[%c0] : memref<16xf32>
  memref.store %x, %a[%c8] : memref<16xf32>
  return
}

// Mathematics without an intrinsic becomes a call.
// CHECK-LABEL: llvm.func @mathematics
// CHECK: llvm.intr.exp
// CHECK: llvm.call @erff
func.func @mathematics(%a: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<1xf32>
  %y = math.exp %x : f32
  %z = math.erf %y : f32
  memref.store %z, %a[%c0] : memref<1xf32>
  return
}

// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-entry-points)'
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-entry-points)' | FileCheck %s

// Every memref of a public function is noalias; other attributes stay.
// CHECK-LABEL: func.func @public
// CHECK-SAME: %{{[a-z0-9]+}}: memref<4x8xf32> {llvm.noalias},
// CHECK-SAME: %{{[a-z0-9]+}}: index,
// CHECK-SAME: %{{[a-z0-9]+}}: memref<16xbf16> {llvm.noalias, llvm.nofree},
// CHECK-SAME: %{{[a-z0-9]+}}: memref<64xi8> {llvm.noalias}) {
func.func @public(%a: memref<4x8xf32>, %n: index,
                  %b: memref<16xbf16> {llvm.nofree}, %w: memref<64xi8>) {
  %regs = memref.alloca() : memref<1x2xvector<8xf32>>
  return
}

// Nobody checks what a private function is given.
// CHECK-LABEL: func.func private @private(%{{[a-z0-9]+}}: memref<4xf32>) {
func.func private @private(%a: memref<4xf32>) {
  return
}

// A declaration has no pointers to mark.
// CHECK: func.func private @declared(memref<4xf32>)
func.func private @declared(memref<4xf32>)

// Gaps between rows are no obstacle: strides are static.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: memref<4x8xf32, strided<[10, 1]>> {llvm.noalias}
func.func @strided(%a: memref<4x8xf32, strided<[10, 1]>>) {
  return
}

// How far rows are apart is a number after all other arguments; batches follow.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<3x4x8xf32> {llvm.noalias, llvm.nofree}, %{{[a-z0-9]+}}: index, %[[ROW:[a-z0-9]+]]: index) {
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[BATCH:.*]] = arith.muli %[[ROW]], %[[C4]] : index
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [3, 4, 8], strides: [%[[BATCH]], %[[ROW]], 1]
// CHECK: memref.load %[[VIEW]]
func.func @rows(%a: memref<3x4x8xf32, strided<[?, ?, 1]>> {llvm.nofree}, %n: index) {
  %0 = memref.load %a[%n, %n, %n] : memref<3x4x8xf32, strided<[?, ?, 1]>>
  return
}

// CHECK-LABEL: func.func @nothing() {
func.func @nothing() {
  return
}

// -----

// expected-error @below {{argument 1 of 'f' (memref<?x4xf32>) has a dynamic shape; give every argument a static shape}}
func.func @f(%a: memref<4xf32>, %b: memref<?x4xf32>) {
  return
}

// -----

// expected-error @below {{argument 0 of 'f' (memref<*xf32>) has no rank; give it a static shape}}
func.func @f(%a: memref<*xf32>) {
  return
}

// -----

// expected-error @below {{argument 0 of 'f' (memref<4xf32, strided<[1], offset: 2>>) has an offset or a dynamic stride, which a bare pointer cannot carry; make it static and start at the first element}}
func.func @f(%a: memref<4xf32, strided<[1], offset: 2>>) {
  return
}

// -----

// expected-error @below {{Only an argument of a public function may have rows any distance apart: strided<[?, 1]>, all strides but the last one dynamic}}
func.func @f(%a: memref<4x4x4xf32, strided<[16, ?, 1]>>) {
  return
}

// -----

// expected-error @below {{has an offset or a dynamic stride}}
func.func private @f(%a: memref<4x4xf32, strided<[?, 1]>>) {
  return
}

// -----

// expected-error @below {{has a layout that is not strided; write it as strided<[...]>}}
func.func @f(%a: memref<4x4xf32, affine_map<(i, j) -> (i floordiv 2, j)>>) {
  return
}

// -----

// expected-error @below {{argument 0 of 'f' (memref<4xvector<8xf32>>) promises the alignment of a vector; take scalars, or a view of the workspace}}
func.func @f(%a: memref<4xvector<8xf32>>) {
  return
}

// -----

// expected-error @below {{'f' returns a memref; take it as an argument instead}}
func.func @f(%a: memref<4xf32>) -> memref<4xf32> {
  return %a : memref<4xf32>
}

// -----

func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{memref.alloca outside of the entry block takes stack again at each iteration; move it to the entry of the function}}
    %m = memref.alloca() : memref<4xf32>
  }
  return
}

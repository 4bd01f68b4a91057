// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-plan-memory)'
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-plan-memory)' | FileCheck %s
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-plan-memory,morello-plan-memory)' | FileCheck %s
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-plan-memory,morello-lower-to-llvm)' | FileCheck %s --check-prefix=LLVM

// The buffer outside of the loop keeps its place; the two inside are never needed
// together and share theirs. Registers go to the entry.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: %{{[a-z0-9]+}}: memref<8xf32>, %[[WORK:[a-z0-9]+]]: memref<192xi8>)
// CHECK-SAME: morello.workspace_bytes = 192 : i64
// CHECK-NEXT: memref.alloca() : memref<2xvector<8xf32>>
// CHECK: %[[OUTER:.*]] = arith.constant 128 : index
// CHECK-NEXT: memref.view %[[WORK]][%[[OUTER]]][] : memref<192xi8> to memref<8xf32>
// CHECK: scf.for
// CHECK-NEXT: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-NEXT: memref.view %[[WORK]][%[[FIRST]]][] : memref<192xi8> to memref<32xf32>
// CHECK: %[[SECOND:.*]] = arith.constant 0 : index
// CHECK-NEXT: memref.view %[[WORK]][%[[SECOND]]][] : memref<192xi8> to memref<4x8xi32>
// CHECK-NOT: memref.alloc
// LLVM-LABEL: llvm.func @loop
// LLVM-SAME: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias})
// LLVM-NOT: malloc
func.func @loop(%a: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %outer = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %first = memref.alloc() : memref<32xf32>
    %row = memref.subview %first[8] [8] [1] : memref<32xf32> to
        memref<8xf32, strided<[1], offset: 8>>
    %registers = memref.alloca() : memref<2xvector<8xf32>>
    %v = vector.load %row[%c0] : memref<8xf32, strided<[1], offset: 8>>, vector<8xf32>
    memref.store %v, %registers[%c0] : memref<2xvector<8xf32>>
    %second = memref.alloc() : memref<4x8xi32>
    %n = memref.load %second[%c0, %i] : memref<4x8xi32>
    %w = memref.load %registers[%c0] : memref<2xvector<8xf32>>
    vector.store %w, %outer[%c0] : memref<8xf32>, vector<8xf32>
    vector.store %w, %a[%c0] : memref<8xf32>, vector<8xf32>
  }
  return
}

// Each call gives the function a part of the caller's workspace, the same one if the
// buffers are not needed together.
// CHECK-LABEL: func.func @caller
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<8xf32>, %[[WORK:[a-z0-9]+]]: memref<192xi8>)
// CHECK-SAME: morello.workspace_bytes = 192 : i64
// CHECK: %[[BETWEEN:.*]] = memref.view %[[WORK]]{{.*}} : memref<192xi8> to memref<8xf32>
// CHECK: %[[OWN:.*]] = memref.view %[[WORK]]{{.*}} : memref<192xi8> to memref<128xi8>
// CHECK: call @callee(%[[A]], %[[BETWEEN]], %[[OWN]])
// CHECK: call @callee(%[[BETWEEN]], %[[A]],
// CHECK: func.func private @callee(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>, %{{.*}}: memref<128xi8>)
// CHECK-SAME: morello.workspace_bytes = 128 : i64
func.func @caller(%a: memref<8xf32>) {
  %between = memref.alloc() : memref<8xf32>
  func.call @callee(%a, %between) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @callee(%between, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

func.func private @callee(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %own = memref.alloc() : memref<32xf32>
  %v = vector.load %a[%c0] : memref<8xf32>, vector<8xf32>
  vector.store %v, %own[%c0] : memref<32xf32>, vector<8xf32>
  %w = vector.load %own[%c0] : memref<32xf32>, vector<8xf32>
  vector.store %w, %b[%c0] : memref<8xf32>, vector<8xf32>
  return
}

// A buffer lives as long as it is read as bits.
// CHECK-LABEL: func.func @bits
// CHECK-SAME: morello.workspace_bytes = 128 : i64
// LLVM-LABEL: llvm.func @bits
// LLVM-NOT: builtin
func.func @bits(%a: memref<8xi16>) {
  %c0 = arith.constant 0 : index
  %halves = memref.alloc() : memref<8xbf16>
  %bits = builtin.unrealized_conversion_cast %halves : memref<8xbf16> to memref<8xi16>
  %other = memref.alloc() : memref<8xi16>
  %v = vector.load %bits[%c0] : memref<8xi16>, vector<8xi16>
  vector.store %v, %other[%c0] : memref<8xi16>, vector<8xi16>
  %w = vector.load %other[%c0] : memref<8xi16>, vector<8xi16>
  vector.store %w, %a[%c0] : memref<8xi16>, vector<8xi16>
  return
}

// Modules in modules have functions of their own.
// CHECK: module @inner
// CHECK: func.func @callee(%{{.*}}: memref<64xi8>) attributes {morello.workspace_bytes = 64 : i64}
// CHECK: func.func @calls(%{{.*}}: memref<64xi8>) attributes {morello.workspace_bytes = 64 : i64}
module @inner {
  func.func @callee() {
    %a = memref.alloc() : memref<1xf32>
    return
  }
  func.func @calls() {
    func.call @callee() : () -> ()
    return
  }
}

// CHECK-LABEL: func.func @nothing(%{{.*}}: memref<8xf32>) attributes {morello.workspace_bytes = 0 : i64}
func.func @nothing(%a: memref<8xf32>) {
  return
}

// -----

func.func @dynamic(%n: index) {
  // expected-error @+1 {{memref<?xf32> has a dynamic size, and the workspace is planned at compile time}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

func.func @padded() {
  // expected-error @+1 {{has a layout of its own, but a buffer of the workspace is row-major}}
  %a = memref.alloc() : memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @freed() {
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{memref.dealloc is not for buffers of the workspace}}
  memref.dealloc %a : memref<4xf32>
  return
}

// -----

func.func @escaped() -> memref<4xf32> {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.cast %a : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{escapes through func.return}}
  return %b : memref<4xf32>
}

// -----

func.func @threads() {
  omp.parallel {
    // expected-error @+1 {{a buffer inside omp.parallel would be shared by its threads}}
    %a = memref.alloca() : memref<1xvector<8xf32>>
    omp.terminator
  }
  return
}

// -----

func.func @unknown_iterations(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{it must run from 0 to a constant by 1, in one dimension}}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func @nested_threads() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.parallel (%i) = (%c0) to (%c2) step (%c1) {
    scf.parallel (%j) = (%c0) to (%c2) step (%c1) {
      // expected-error @+1 {{a buffer inside two nested scf.parallel}}
      %a = memref.alloc() : memref<4xf32>
    }
  }
  return
}

// -----

func.func @planned() attributes {morello.workspace_bytes = 0 : i64} {
  // expected-error @+1 {{the call of @callee has no workspace to give it}}
  func.call @callee() : () -> ()
  return
}

func.func private @callee() {
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @first() {
  func.call @second() : () -> ()
  return
}

func.func @second() {
  // expected-error @+1 {{the call of @first calls the function that it stands in}}
  func.call @first() : () -> ()
  return
}

// -----

func.func private @unknown(memref<4xf32>)

func.func @escapes_by_a_call() {
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{escapes through func.call}}
  func.call @unknown(%a) : (memref<4xf32>) -> ()
  return
}

// -----

func.func @indices() {
  // expected-error @+1 {{no room for elements of type index}}
  %a = memref.alloc() : memref<4xindex>
  return
}

// -----

func.func @dynamic_on_the_stack(%n: index) {
  // expected-error @+1 {{on the stack has a dynamic size}}
  %a = memref.alloca(%n) : memref<?xf32>
  return
}

// -----

func.func @escapes_as_an_index() {
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{escapes through memref.extract_aligned_pointer_as_index}}
  %p = memref.extract_aligned_pointer_as_index %a : memref<4xf32> -> index
  return
}

// -----

func.func @escapes_into_memory() {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<1xmemref<4xf32>>
  %c = arith.constant 0 : index
  // expected-error @+1 {{escapes through memref.store}}
  memref.store %a, %b[%c] : memref<1xmemref<4xf32>>
  return
}

// -----

func.func @escapes_from_a_branch(%t: i1) {
  %b = memref.alloc() : memref<4xf32>
  %c = scf.if %t -> memref<4xf32> {
    %a = memref.alloc() : memref<4xf32>
    scf.yield %a : memref<4xf32>
  } else {
    // expected-error @+1 {{escapes through scf.yield}}
    scf.yield %b : memref<4xf32>
  }
  return
}

// -----

func.func @blocks() {
  // expected-error @+1 {{beside branches between blocks}}
  %a = memref.alloc() : memref<4xf32>
  cf.br ^end
^end:
  return
}

// -----

func.func @iterations_from_one() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @+1 {{it must run from 0 to a constant by 1, in one dimension}}
  scf.parallel (%i) = (%c1) to (%c4) step (%c1) {
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func @iterations_by_two() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  // expected-error @+1 {{it must run from 0 to a constant by 1, in one dimension}}
  scf.parallel (%i) = (%c0) to (%c4) step (%c2) {
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func @iterations_of_a_size() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc() : memref<4x4xf32>
  %n = memref.dim %m, %c1 : memref<4x4xf32>
  // expected-error @+1 {{it must run from 0 to a constant by 1, in one dimension}}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func @iterations_of_two_dimensions() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{it must run from 0 to a constant by 1, in one dimension}}
  scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c2) step (%c1, %c1) {
    %a = memref.alloc() : memref<4xf32>
  }
  return
}

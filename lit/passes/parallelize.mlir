// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-plan-memory,morello-parallelize)'
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-plan-memory,morello-parallelize)' | FileCheck %s
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-plan-memory,morello-parallelize,morello-lower-to-llvm)' | FileCheck %s --check-prefix=LLVM

// Registers become a thread's own; a buffer has one part of the workspace an iteration.
// CHECK-LABEL: func.func @double
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<64xf32>, %[[WS:[a-z0-9]+]]: memref<256xi8>
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK: %[[N:.*]] = arith.index_cast %[[C2]] : index to i32
// CHECK: %[[HERE:.*]] = llvm.call @sched_getcpu() : () -> i32
// CHECK: omp.parallel num_threads(%[[N]] : i32) {
// CHECK-NEXT: llvm.call @morello_leave_processor(%[[HERE]]) : (i32) -> ()
// CHECK-NEXT: memref.alloca() : memref<1xvector<8xf32>>
// CHECK-NEXT: omp.wsloop {
// CHECK-NEXT: omp.loop_nest (%[[T:.*]]) : index = (%{{.*}}) to (%[[C2]]) step
// CHECK: %[[STRIDE:.*]] = arith.constant 128 : index
// CHECK: %[[PART:.*]] = arith.muli %[[T]], %[[STRIDE]]
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[PART]]
// CHECK: memref.view %[[WS]][%[[AT]]][] : memref<256xi8> to memref<32xf32>
// CHECK: omp.yield
// CHECK: omp.terminator
// LLVM: omp.parallel num_threads
// LLVM: llvm.alloca
// LLVM: omp.loop_nest
// LLVM-NOT: memref.
func.func @double(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  scf.parallel (%t) = (%c0) to (%c2) step (%c1) {
    %start = arith.muli %t, %c32 : index
    %buffer = memref.alloc() : memref<32xf32>
    %register = memref.alloca() : memref<1xvector<8xf32>>
    %v = vector.load %a[%start] : memref<64xf32>, vector<8xf32>
    memref.store %v, %register[%c0] : memref<1xvector<8xf32>>
    vector.store %v, %buffer[%c0] : memref<32xf32>, vector<8xf32>
    %w = memref.load %register[%c0] : memref<1xvector<8xf32>>
    %sum = arith.addf %w, %w : vector<8xf32>
    vector.store %sum, %a[%start] : memref<64xf32>, vector<8xf32>
  }
  return
}

// A buffer that all iterations read lies beside the parts that are their own.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: memref<192xi8>
// CHECK: memref.view %{{.*}} : memref<192xi8> to memref<8xf32>
// CHECK: omp.parallel
// CHECK: %[[OWN:.*]] = arith.constant 64 : index
// CHECK: arith.muli %{{.*}}, %[[OWN]]
// CHECK: memref.view %{{.*}} : memref<192xi8> to memref<16xf32>
func.func @shared(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %packed = memref.alloc() : memref<8xf32>
  %v = vector.load %a[%c0] : memref<64xf32>, vector<8xf32>
  vector.store %v, %packed[%c0] : memref<8xf32>, vector<8xf32>
  scf.parallel (%t) = (%c0) to (%c2) step (%c1) {
    %own = memref.alloc() : memref<16xf32>
    %w = vector.load %packed[%c0] : memref<8xf32>, vector<8xf32>
    vector.store %w, %own[%c0] : memref<16xf32>, vector<8xf32>
  }
  return
}

// -----

func.func @two_dimensions() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{scf.parallel has several dimensions or a reduction}}
  scf.parallel (%i, %j) = (%c0, %c0) to (%c1, %c1) step (%c1, %c1) {
  }
  return
}

// -----

func.func @nested() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    // expected-error @+1 {{scf.parallel stands in another}}
    scf.parallel (%j) = (%c0) to (%c1) step (%c1) {
    }
  }
  return
}

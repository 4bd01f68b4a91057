// What translation to LLVM IR or the JIT would die of is refused before it.
// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-check-lowered)'

// The llvm dialect alone passes.
llvm.func @expf(f32) -> f32
llvm.func @f(%a: !llvm.ptr {llvm.noalias}) attributes {morello.note = "kept"} {
  %x = llvm.load %a : !llvm.ptr -> f32
  %y = llvm.call @expf(%x) : (f32) -> f32
  llvm.store %y, %a : f32, !llvm.ptr
  llvm.return
}

// -----

// expected-error @below {{'func.func' is not lowered to the llvm dialect; run morello-lower-to-llvm; it needs memrefs of static shape}}
func.func @f() {
  return
}

// -----

llvm.func @f(%x: i64) {
  // expected-error @below {{'arith.addi' is not lowered to the llvm dialect; run morello-lower-to-llvm, or a conversion of this dialect, first}}
  %y = arith.addi %x, %x : i64
  llvm.return
}

// -----

// The first op is the one that is named.
llvm.func @f(%x: i64) {
  // expected-error @below {{'builtin.unrealized_conversion_cast' is not lowered to the llvm dialect; a conversion of its operand is missing before it}}
  %i = builtin.unrealized_conversion_cast %x : i64 to index
  %y = arith.addi %i, %i : index
  llvm.return
}

// -----

llvm.func @f() {
  // expected-error @below {{'memref.alloca' is not lowered to the llvm dialect; only static shapes and strided layouts are lowered}}
  %m = memref.alloca() : memref<4xf32>
  llvm.return
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @below {{'transform.named_sequence' is not lowered to the llvm dialect; run morello-apply-schedule, which consumes the schedule, first}}
  transform.named_sequence @schedule(%root: !transform.any_op) {
    transform.yield
  }
}

// -----

// expected-error @below {{the module calls 'malloc', but a kernel takes no memory from the heap; replace memref.alloc by a view of the workspace argument}}
llvm.func @malloc(i64) -> !llvm.ptr

// -----

// expected-error @below {{a memref.copy of strided memory is left and would call a runtime function; lower the copy to loops of vector.load and vector.store}}
llvm.func @memrefCopy(i64, !llvm.ptr, !llvm.ptr)

// Calls of the C library, whose affinity masks have 128 bytes here, and of the OpenMP
// runtime. None of them throws, so kernels do not throw either.
llvm.func @sched_getcpu() -> i32 attributes {passthrough = ["nounwind"]}
llvm.func @sched_getaffinity(i32, i64, !llvm.ptr) -> i32 attributes {
  passthrough = ["nounwind"]
}
llvm.func @sched_setaffinity(i32, i64, !llvm.ptr) -> i32 attributes {
  passthrough = ["nounwind"]
}
llvm.func @omp_get_thread_num() -> i32 attributes {passthrough = ["nounwind"]}
llvm.func @omp_get_num_threads() -> i32 attributes {passthrough = ["nounwind"]}

// Moves a worker thread off the processor where its team began.
llvm.func internal @morello_leave_processor(%first: i32) attributes {
  passthrough = ["cold", "noinline", "nounwind"]
} {
  %none = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %bytes = llvm.mlir.constant(128 : i64) : i64
  %zero = llvm.mlir.constant(dense<0> : vector<16xi64>) : vector<16xi64>
  %all = llvm.alloca %one x vector<16xi64> : (i32) -> !llvm.ptr
  %others = llvm.alloca %one x vector<16xi64> : (i32) -> !llvm.ptr
  %thread = llvm.call @omp_get_thread_num() : () -> i32
  %begins = llvm.icmp "eq" %thread, %none : i32
  llvm.cond_br %begins, ^done, ^look
^look:
  %here = llvm.call @sched_getcpu() : () -> i32
  %same = llvm.icmp "eq" %here, %first : i32
  %known = llvm.mlir.constant(1024 : i32) : i32
  %in_set = llvm.icmp "ult" %first, %known : i32
  %meets = llvm.and %same, %in_set : i1
  llvm.cond_br %meets, ^ask, ^done
^ask:
  llvm.store %zero, %all : vector<16xi64>, !llvm.ptr
  %failed = llvm.call @sched_getaffinity(%none, %bytes, %all)
    : (i32, i64, !llvm.ptr) -> i32
  %set = llvm.load %all : !llvm.ptr -> vector<16xi64>
  %ones = llvm.intr.ctpop(%set) : (vector<16xi64>) -> vector<16xi64>
  %count = "llvm.intr.vector.reduce.add"(%ones) : (vector<16xi64>) -> i64
  %team = llvm.call @omp_get_num_threads() : () -> i32
  %wanted = llvm.zext %team : i32 to i64
  %enough = llvm.icmp "uge" %count, %wanted : i64
  llvm.cond_br %enough, ^go, ^done
^go:
  llvm.store %set, %others : vector<16xi64>, !llvm.ptr
  %six = llvm.mlir.constant(6 : i32) : i32
  %last = llvm.mlir.constant(63 : i32) : i32
  %bit_one = llvm.mlir.constant(1 : i64) : i64
  %word = llvm.lshr %first, %six : i32
  %at = llvm.getelementptr %others[%word] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %place = llvm.and %first, %last : i32
  %shift = llvm.zext %place : i32 to i64
  %bit = llvm.shl %bit_one, %shift : i64
  %old = llvm.load %at : !llvm.ptr -> i64
  %new = llvm.xor %old, %bit : i64
  llvm.store %new, %at : i64, !llvm.ptr
  // The old affinity mask is restored after the move: the move is a hint that leaves
  // the scheduler free. The system refuses an empty mask, and nothing changes.
  %moved = llvm.call @sched_setaffinity(%none, %bytes, %others)
    : (i32, i64, !llvm.ptr) -> i32
  %back = llvm.call @sched_setaffinity(%none, %bytes, %all)
    : (i32, i64, !llvm.ptr) -> i32
  llvm.br ^done
^done:
  llvm.return
}

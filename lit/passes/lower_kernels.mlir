// RUN: %morello-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(morello-lower-kernels)'
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-lower-kernels)' | FileCheck %s
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-lower-kernels,canonicalize,cse)' | FileCheck %s --check-prefix=TIDY
// RUN: sed -e '/^\/\/ -----/,$d' %s | %morello-opt - -p 'builtin.module(morello-lower-kernels)' | FileCheck %s --check-prefix=SHARED

// A loop over k, four steps a trip, carries the accumulators: two rows of 13 columns, of
// which the last 5 are read with a mask. lhs and rhs are panels: their places in the pack are constants.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[LHS:[a-z0-9]+]]: memref<1x1x8x6xf32>, %[[RHS:[a-z0-9]+]]: memref<1x1x8x16xf32>, %[[OUT:[a-z0-9]+]]: memref<1x2x2xvector<8xf32>>
// CHECK-COUNT-4: memref.load %[[OUT]]
// CHECK: %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: vector.load %[[RHS]][%{{.*}}, %{{.*}}, %[[K]], %{{.*}}] : memref<1x1x8x16xf32>, vector<8xf32>
// CHECK: vector.constant_mask [5]
// CHECK: vector.maskedload %[[RHS]]
// CHECK: memref.load %[[LHS]][%{{.*}}, %{{.*}}, %[[K]], %{{.*}}]
// CHECK-NEXT: vector.broadcast
// CHECK-NEXT: math.fma
// CHECK-NEXT: math.fma
// CHECK: memref.load %[[LHS]]
// CHECK-NEXT: vector.broadcast
// CHECK-NEXT: math.fma
// CHECK-NEXT: math.fma
// CHECK-COUNT-3: vector.load %[[RHS]]
// CHECK: math.fma
// CHECK: memref.load %[[LHS]]
// CHECK-COUNT-2: math.fma
// CHECK-NEXT: scf.yield
// CHECK: memref.store %[[SUMS]]#0, %[[OUT]]
// CHECK: memref.store %[[SUMS]]#3, %[[OUT]]
// CHECK-NOT: morello.kernel
func.func @matmul(%lhs: memref<1x1x8x6xf32>, %rhs: memref<1x1x8x16xf32>,
                  %out: memref<1x2x2xvector<8xf32>>) {
  "morello.kernel"(%lhs, %rhs, %out) {kernel = "gemm_registers", kind = "matmul", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = true}, serial = true, sizes = array<i64: 1, 2, 8, 13>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1,2,1p6]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0,2,1,2p16]">, false, 0 : i64>, #morello.tensor<"f32", "VRF", #morello.layout<"[0,1,2]">, false, 8 : i64>]} : (memref<1x1x8x6xf32>, memref<1x1x8x16xf32>, memref<1x2x2xvector<8xf32>>) -> ()
  return
}

// Six rows become columns: four and two elements at a time.
// TIDY-LABEL: func.func @transpose
// TIDY-COUNT-4: vector.load {{.*}} : memref<6x8xi32>, vector<8xi32>
// TIDY: vector.shuffle {{.*}} [0, 8, 1, 9, 4, 12, 5, 13]
// TIDY-COUNT-8: vector.store {{.*}} vector<4xi32>
// TIDY-COUNT-2: vector.load {{.*}} : memref<6x8xi32>, vector<8xi32>
// TIDY-COUNT-8: vector.store {{.*}} vector<2xi32>
func.func @transpose(%src: memref<6x8xi32>, %dst: memref<8x6xi32>) {
  "morello.kernel"(%src, %dst) {kernel = "transpose", kind = "move", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 6, 8>, tensors = [#morello.tensor<"s32", "L1", #morello.layout<"[0,1]">, false, 0 : i64>, #morello.tensor<"s32", "L1", #morello.layout<"[1,0]">, false, 0 : i64>]} : (memref<6x8xi32>, memref<8x6xi32>) -> ()
  return
}

// Equal kernels of a function of many sizes are calls of one. Those of less work stay.
// CHECK-LABEL: func.func @sizes(
// CHECK-COUNT-2: call @sizes_kernel0(
// CHECK-NOT: call
// CHECK: math.fma
// CHECK: return
// SHARED: func.func private @sizes_kernel0(%[[LHS:[a-z0-9]+]]: memref<f32> {llvm.noalias}, %{{.*}}: i64, %{{.*}}: memref<f32> {llvm.noalias}, %{{.*}}: i64, %{{.*}}: memref<f32> {llvm.noalias}, %{{.*}}: i64)
// SHARED: memref.reinterpret_cast %[[LHS]] to offset: [%{{.*}}], sizes: [1, 6, 64], strides: [384, 64, 1]
// SHARED: math.fma
func.func @sizes(%a: memref<1x6x64xf32>, %b: memref<1x64x32xf32>, %c: memref<1x6x32xf32>,
                 %d: memref<1x6x8xf32>, %e: memref<1x8x32xf32>, %m: index) attributes {morello.sizes = [array<i64>]} {
  "morello.kernel"(%a, %b, %c) {kernel = "gemm_strips", kind = "matmul", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = false}, serial = true, sizes = array<i64: 1, 6, 64, 32>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>]} : (memref<1x6x64xf32>, memref<1x64x32xf32>, memref<1x6x32xf32>) -> ()
  "morello.kernel"(%a, %b, %c) {kernel = "gemm_strips", kind = "matmul", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = false}, serial = true, sizes = array<i64: 1, 6, 64, 32>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>]} : (memref<1x6x64xf32>, memref<1x64x32xf32>, memref<1x6x32xf32>) -> ()
  "morello.kernel"(%d, %e, %c) {kernel = "gemm_strips", kind = "matmul", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = false}, serial = true, sizes = array<i64: 1, 6, 8, 32>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>]} : (memref<1x6x8xf32>, memref<1x8x32xf32>, memref<1x6x32xf32>) -> ()
  "morello.kernel"(%d, %e, %c) {kernel = "gemm_strips", kind = "matmul", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = false}, serial = true, sizes = array<i64: 1, 6, 8, 32>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>]} : (memref<1x6x8xf32>, memref<1x8x32xf32>, memref<1x6x32xf32>) -> ()
  return
}

// A graph, row by row: the distance to a number of each row, of 8 columns and of 5 that
// are masked, whose other lanes add nothing; lanes are added up, then the row is added to.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<3x13xf32>, %[[M:[a-z0-9]+]]: memref<3xf32>, %[[L:[a-z0-9]+]]: memref<3xf32>
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: memref.load %[[M]][%[[ROW]]]
// CHECK: vector.load %[[X]][%[[ROW]], %{{.*}}]
// CHECK: vector.constant_mask [5]
// CHECK: vector.maskedload %[[X]]
// CHECK: vector.broadcast
// CHECK: arith.subf
// CHECK: arith.subf
// CHECK: math.fma
// CHECK: arith.mulf
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 13, 14, 15]
// CHECK: vector.extract
// CHECK: memref.load %[[L]][%[[ROW]]]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: memref.store %{{.*}}, %[[L]][%[[ROW]]]
// CHECK-NOT: morello.kernel
func.func @rows(%x: memref<3x13xf32>, %m: memref<3xf32>, %l: memref<3xf32>) {
  "morello.kernel"(%x, %m, %l) {kernel = "graph_rows", kind = "compose", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {graph = {inputs = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], nodes = [{body = ["square", ["sub", 0, 1]], map = affine_map<(d0, d1) -> (d0)>, output = "accumulate", reduction = "sum"}]}}, serial = true, sizes = array<i64: 3, 13>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0 : i64>, #morello.tensor<"f32", "L1", #morello.layout<"[0]">, false, 0 : i64>]} : (memref<3x13xf32>, memref<3xf32>, memref<3xf32>) -> ()
  return
}

// Seven rows in two blocks: the first copies a strip of rhs, which the second reads.
// CHECK-LABEL: func.func @strips
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<1x7x32xf32>, %[[B:[a-z0-9]+]]: memref<1x32x16xf32>
// CHECK: %[[COPY:.*]] = memref.alloc() : memref<1x32x16xf32>
// CHECK: memref.prefetch %[[B]]
// CHECK: vector.load %[[B]]
// CHECK: vector.store %{{.*}}, %[[COPY]]
// CHECK: vector.load %[[COPY]]
// CHECK-NOT: vector.load %[[B]]
// CHECK-NOT: morello.kernel
func.func @strips(%a: memref<1x7x32xf32>, %b: memref<1x32x16xf32>, %o: memref<1x7x16xf32>) {
  "morello.kernel"(%a, %b, %o) {kernel = "gemm_strips", kind = "matmul", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = false}, serial = true, sizes = array<i64: 1, 7, 32, 16>, tensors = [#morello.tensor<"f32", "L1", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, true, 0 : i64>, #morello.tensor<"f32", "L2", #morello.layout<"[0,1,2]">, true, 0 : i64>]} : (memref<1x7x32xf32>, memref<1x32x16xf32>, memref<1x7x16xf32>) -> ()
  return
}

// In tiles: a configuration, four sums for all of k, whose last part is shorter than a tile.
// Each thread releases its tiles.
// CHECK-LABEL: func.func @tiles
// CHECK: scf.parallel
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK: scf.for
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-NEXT: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: scf.reduce
// CHECK-NOT: tilerelease
func.func @tiles(%lhs: memref<1x32x132xi8>, %rhs: memref<1x1x33x32x4xi8>, %out: memref<1x32x32xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%thread) = (%zero) to (%one) step (%one) {
    "morello.kernel"(%lhs, %rhs, %out) {kernel = "tile_dot4_exact_amx", kind = "matmul", limits = #morello.limits<"vrf=32,l1=768,l2=16384">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, options = {accum = false}, serial = true, sizes = array<i64: 1, 32, 132, 32>, tensors = [#morello.tensor<"u8", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>, #morello.tensor<"s8", "L2", #morello.layout<"[0,2,1,2p32,1p4]">, false, 0 : i64>, #morello.tensor<"s32", "L1", #morello.layout<"[0,1,2]">, false, 0 : i64>]} : (memref<1x32x132xi8>, memref<1x1x33x32x4xi8>, memref<1x32x32xi32>) -> ()
    scf.reduce
  }
  return
}

// -----

func.func @unknown(%src: memref<6x8xi32>, %dst: memref<8x6xi32>) {
  // expected-error @+1 {{unknown kernel 'move_magic'}}
  "morello.kernel"(%src, %dst) {kernel = "move_magic", kind = "move", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 6, 8>, tensors = [#morello.tensor<"s32", "L1", #morello.layout<"[0,1]">, false, 0 : i64>, #morello.tensor<"s32", "L1", #morello.layout<"[1,0]">, false, 0 : i64>]} : (memref<6x8xi32>, memref<8x6xi32>) -> ()
  return
}

// -----

func.func @wide(%src: memref<6x9xi32>, %dst: memref<9x6xi32>) {
  // expected-error @+1 {{takes a block of at most 8 x 8: tile it smaller}}
  "morello.kernel"(%src, %dst) {kernel = "transpose", kind = "move", limits = #morello.limits<"vrf=16,l1=512,l2=8192">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, options = {}, serial = true, sizes = array<i64: 6, 9>, tensors = [#morello.tensor<"s32", "L1", #morello.layout<"[0,1]">, false, 0 : i64>, #morello.tensor<"s32", "L1", #morello.layout<"[1,0]">, false, 0 : i64>]} : (memref<6x9xi32>, memref<9x6xi32>) -> ()
  return
}

// -----

func.func @unscheduled(%out: memref<5x5xf32>) {
  // expected-error @+1 {{'morello.fill' op has no program: its schedule leaves fill:5x5}}
  "morello.fill"(%out) {limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true, sizes = array<i64: 5, 5>, tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0 : i64>], value = "zero"} : (memref<5x5xf32>) -> ()
  return
}
